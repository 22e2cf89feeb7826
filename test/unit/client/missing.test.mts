import {
	carried,
	isGone,
	staysEmpty,
	type Sightings,
} from '../../../gateway/client/missingTasks.js';
import { isUnknownTask } from '../../../gateway/protocol/errorBody.js';
import { response, fault, page } from '../virtual-gateway.mjs';

test('only an error in its own form is the 404 of the gateway', () => {
	expect(isUnknownTask(response(404, { error: { message: "task doesn't exist" } }))).toBe(true);
	for (const outcome of [
		page(404, 'default backend - 404'),
		page(404, '<html>Not Found'),
		page(404, ''),
		response(404, {}),
		response(404, null),
		response(404, []),
		response(404, { error: 'not found' }),
		response(404, { error: { message: '' } }),
		response(404, { error: { message: 404 } }),
		response(404, { error: { type: 'x' } }),
		response(404, { error: [{ message: 'x' }] }),
		response(404, { message: 'no Route matched with those values' }),
		response(404, { success: false, message: 'x' }),
		response(410, { error: { message: 'gone' } }),
		fault('reset'),
	]) {
		expect(isUnknownTask(outcome)).toBe(false);
	}
});

/** After how many seconds of nothing but 404 it is final. */
function secondsUntilGone(task: Sightings, start = 100_000): number {
	for (let seconds = 0; seconds < 100; seconds += 1) {
		if (isGone(task, start + seconds * 1000)) return seconds;
	}
	return Infinity;
}

test.each<[string, Sightings, number]>([
	['of unknown age', {}, 5],
	['submitted just now', { bornAt: 100_000 }, 30],
	['submitted 20 s ago', { bornAt: 80_000 }, 10],
	['submitted 30 s ago', { bornAt: 70_000 }, 0],
	['submitted yesterday', { bornAt: -86_400_000 }, 0],
	['of tomorrow, by another clock', { bornAt: 86_400_000 }, 30],
	['that is old but was seen', { bornAt: 0, seen: true }, 5],
])('for a task %s it is final after so many seconds', (_, task, seconds) => {
	expect(secondsUntilGone(task)).toBe(seconds);
});

test('the next wait, on another clock, goes on where this one has stopped, if the task was seen', () => {
	const task: Sightings = { bornAt: 0, seen: true, misses: 0 };
	expect(isGone(task, 100_000)).toBe(false);
	const later: Sightings = { bornAt: 0, ...carried(task, 900_000) };
	expect(later).toEqual({ bornAt: 0, seen: true, misses: 1, missingSince: 1_000_000 });
	expect([1, 2].map((round) => isGone(later, 1_000_000 + 60_000 * round))).toEqual([false, false]);
	expect(isGone(later, 1_180_000)).toBe(true);
	expect(carried({ bornAt: 0, misses: 3, missingSince: 5 }, 0)).toEqual({});
});

test('a completed task has a few seconds to list its image, also over two waits', () => {
	const task: Sightings = { seen: true };
	expect([0, 4, 5].map((seconds) => staysEmpty(task, 1000 * seconds))).toEqual([
		false,
		false,
		true,
	]);
	const later = carried({ seen: true, emptySince: 0 }, 900_000);
	expect(staysEmpty(later, 960_000)).toBe(true);
});
