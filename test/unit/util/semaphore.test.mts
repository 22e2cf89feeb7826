import { Semaphore } from '../../../util/semaphore.js';

test('as many functions run as allowed, the others in order as soon as one has ended', async () => {
	const semaphore = new Semaphore(2);
	const started: number[] = [];
	const ends = new Map<number, () => void>();
	const runs = [0, 1, 2, 3].map(async (index) => {
		return await semaphore.run(async () => {
			started.push(index);
			await new Promise<void>((end) => ends.set(index, end));
			return index;
		});
	});
	expect(started).toEqual([0, 1]);
	ends.get(1)!();
	await runs[1];
	expect(started).toEqual([0, 1, 2]);
	ends.get(0)!();
	await runs[0];
	expect(started).toEqual([0, 1, 2, 3]);
	ends.get(2)!();
	ends.get(3)!();
	expect(await Promise.all(runs)).toEqual([0, 1, 2, 3]);
});

test('a function that fails gives its turn to the next one', async () => {
	const semaphore = new Semaphore(1);
	const failed = semaphore.run(async () => await Promise.reject(new Error('no')));
	const next = semaphore.run(async () => await Promise.resolve('next'));
	await expect(failed).rejects.toThrow('no');
	expect(await next).toBe('next');
	expect(await semaphore.run(async () => await Promise.resolve('later'))).toBe('later');
});
