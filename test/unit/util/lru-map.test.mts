import { LruMap } from '../../../util/lruMap.js';

test('the entry that was not used for longest makes room', () => {
	const map = new LruMap<string, number>(2);
	map.set('first', 1);
	map.set('second', 2);
	expect(map.get('first')).toBe(1);
	map.set('third', 3);
	expect([map.get('first'), map.get('second'), map.get('third')]).toEqual([1, undefined, 3]);
});
