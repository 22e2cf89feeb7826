import { complete, cpu, grownLive, mb, seconds, wall, UNBOUND } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';
import type { Work } from '../work.mjs';

export const growth: Scenario = {
	name: 'growth',
	title: 'Growth',
	async run({ quick }) {
		const small = quick ? 100 : 300;
		const lifeS = 8;
		const at = async (count: number) => {
			const wait = async (lifetimeS: number, lookAfterMs?: number) =>
				(
					await compare({
						gateway: {},
						lifetimes: Array.from({ length: count }, () => lifetimeS),
						work: {
							package: (ids) => ({
								kind: 'wait',
								ids,
								// One poll each, so that what grows is the number of tasks alone.
								pauseS: lookAfterMs === undefined ? 3 : lifeS * 2,
								lookAfterMs,
								...UNBOUND,
							}),
						},
						// Without the wait it is over in a third of a second: single runs differ much.
						times: quick ? 1 : lookAfterMs === undefined ? 7 : 3,
						warmUp: 300,
					})
				).package;
			const finished = await wait(0);
			const open = await wait(lifeS, (lifeS - 2) * 1000);
			return {
				wallMs: median(finished, wall),
				cpuMs: median(finished, cpu),
				live: median(open, grownLive),
			};
		};
		const [one, few, many] = [await at(1), await at(small), await at(small * 10)];
		const line = (what: string, pick: (figures: typeof one) => number): Line => {
			// What a single task takes is the part that does not grow.
			const ratio = (pick(many) - pick(one)) / (pick(few) - pick(one));
			return {
				measure: `Ten times the tasks (${small} and ${small * 10}): ${what}`,
				goal: 'at most 11 ×',
				package: `${ratio.toFixed(1)} ×`,
				ideal: '10 ×',
				reached: ratio <= 11,
			};
		};
		return {
			lines: [
				line('time', ({ wallMs }) => wallMs),
				line('processor time', ({ cpuMs }) => cpuMs),
				line('memory while they wait', ({ live }) => live),
			],
		};
	},
};

/** All tasks of one run, submitted and waited for by one node. */
export const tenThousand: Scenario = {
	name: '10000',
	title: '10,000 tasks in one run',
	async run({ quick }) {
		const [few, many] = quick ? [100, 1000] : [1000, 10_000];
		const lifeS = quick ? 8 : 30;
		const at = async (count: number, lookAfterMs?: number): Promise<Trial[]> => {
			// An interval at which ten thousand tasks ask less often than one processor can.
			const work: Work = { kind: 'tasks', count, pauseS: 20, nodes: 1, lookAfterMs, ...UNBOUND };
			const trials = await compare({
				gateway: { taskSeconds: lifeS },
				work: { singleNode: () => work },
				// The watch for the delay costs processor time of its own.
				times: quick || lookAfterMs !== undefined ? 1 : 3,
				warmUp: 300,
			});
			return trials.singleNode;
		};
		const looked = async (count: number) => await at(count, (lifeS - 5) * 1000);
		const [one, ten] = [await at(few), await at(many)];
		const [oneLooked, tenLooked] = [await looked(few), await looked(many)];
		const isComplete = complete(ten, many) && complete(tenLooked, many);
		const line = (
			what: string,
			[small, large]: [number, number],
			show: (value: number) => string,
		): Line => ({
			measure: `${many} tasks of ${lifeS} s in one run: ${what}`,
			goal: `at most 10.5 × that of ${few}`,
			package: `${show(large)} (${few}: ${show(small)}; ${(large / small).toFixed(1)} ×)`,
			ideal: '10 ×',
			reached: isComplete && large <= 10.5 * small,
		});
		const both = (lists: [Trial[], Trial[]], pick: (trial: Trial) => number): [number, number] => [
			median(lists[0], pick),
			median(lists[1], pick),
		];
		const watched: [Trial[], Trial[]] = [oneLooked, tenLooked];
		const delay = ({ sample }: Trial) => sample.loopDelayP99Ms ?? NaN;
		return {
			lines: [
				line('time', both([one, ten], wall), (ms) => seconds(ms)),
				line('processor time', both([one, ten], cpu), (ms) => seconds(ms)),
				line('memory that is alive while they wait', both(watched, grownLive), mb),
				line(
					'event-loop delay met at any moment, 99th percentile',
					both(watched, delay),
					(ms) => `${ms.toFixed(1)} ms`,
				),
			],
		};
	},
};
