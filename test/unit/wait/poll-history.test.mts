import {
	shiftedHistory,
	noteNotFound,
	noteNoImage,
	submitTime,
	type PollHistory,
} from '../../../gateway/wait/pollHistory.js';

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
	['submitted yesterday', { submittedAtMs: -86_400_000 }, 0],
	['that is old but was seen', { submittedAtMs: 0, seen: true }, 5],
])('for a task %s it is final after so many seconds', (_, task, seconds) => {
	expect(secondsUntilFinal(task)).toBe(seconds);
});

test('the next wait, on another clock, goes on where this one has stopped, if the task was seen', () => {
	const task: PollHistory = { submittedAtMs: 0, seen: true, notFoundCount: 0 };
	expect(noteNotFound(task, 100_000)).toBe(false);
	const later: PollHistory = { submittedAtMs: 0, ...shiftedHistory(task, 900_000) };
	expect(later).toMatchObject({ seen: true, notFoundCount: 1, notFoundSince: 1_000_000 });
	const ends = [1_060_000, 1_120_000, 1_180_000].map((now) => noteNotFound(later, now));
	expect(ends).toEqual([false, false, true]);
	expect(shiftedHistory({ submittedAtMs: 0, notFoundCount: 3, notFoundSince: 5 }, 0)).toEqual({});
});

test('a completed task has five seconds from then to list its image, also over two waits', () => {
	const task: PollHistory = {};
	const ends = [100_000, 104_999, 105_000].map((now) => noteNoImage(task, now));
	expect(ends).toEqual([false, false, true]);
	const later = shiftedHistory({ seen: true, noImageSince: 0 }, 900_000);
	expect(noteNoImage(later, 960_000)).toBe(true);
});

test.each<[string, number | undefined, number | undefined, number | undefined]>([
	['of known age is that long ago', 20_000, undefined, 80_000],
	['that was waited for longer than its age is older', 20_000, 50_000, 50_000],
	['of unknown age may be new while the wait was short', undefined, 29_999, undefined],
	['of unknown age is at least as old as the wait', undefined, 30_000, 70_000],
])('the submit of a task %s', (_name, ageMs, waitedMs, at) => {
	expect(submitTime(100_000, ageMs, waitedMs)).toBe(at);
});
