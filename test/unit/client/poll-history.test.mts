import {
	forNextWait,
	noteNotFound,
	noteNoImage,
	type PollHistory,
} from '../../../gateway/client/pollHistory.js';
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
function secondsUntilFinal(task: PollHistory, start = 100_000): number {
	for (let seconds = 0; seconds < 100; seconds += 1) {
		if (noteNotFound(task, start + seconds * 1000)) return seconds;
	}
	return Infinity;
}

test.each<[string, PollHistory, number]>([
	['of unknown age', {}, 5],
	['submitted just now', { submittedAtMs: 100_000 }, 30],
	['submitted 20 s ago', { submittedAtMs: 80_000 }, 10],
	['submitted 30 s ago', { submittedAtMs: 70_000 }, 0],
	['submitted yesterday', { submittedAtMs: -86_400_000 }, 0],
	['of tomorrow, by another clock', { submittedAtMs: 86_400_000 }, 30],
	['that is old but was seen', { submittedAtMs: 0, seen: true }, 5],
])('for a task %s it is final after so many seconds', (_, task, seconds) => {
	expect(secondsUntilFinal(task)).toBe(seconds);
});

test('the next wait, on another clock, goes on where this one has stopped, if the task was seen', () => {
	const task: PollHistory = { submittedAtMs: 0, seen: true, notFoundCount: 0 };
	expect(noteNotFound(task, 100_000)).toBe(false);
	const later: PollHistory = { submittedAtMs: 0, ...forNextWait(task, 900_000) };
	expect(later).toEqual({
		submittedAtMs: 0,
		seen: true,
		notFoundCount: 1,
		notFoundSince: 1_000_000,
	});
	expect([1, 2].map((round) => noteNotFound(later, 1_000_000 + 60_000 * round))).toEqual([
		false,
		false,
	]);
	expect(noteNotFound(later, 1_180_000)).toBe(true);
	expect(forNextWait({ submittedAtMs: 0, notFoundCount: 3, notFoundSince: 5 }, 0)).toEqual({});
});

test('a completed task has a few seconds to list its image, also over two waits', () => {
	const task: PollHistory = { seen: true };
	expect([0, 4, 5].map((seconds) => noteNoImage(task, 1000 * seconds))).toEqual([
		false,
		false,
		true,
	]);
	const later = forNextWait({ seen: true, noImageSince: 0 }, 900_000);
	expect(noteNoImage(later, 960_000)).toBe(true);
});
