import { cpu, grownLive, wall, UNBOUND } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import { compare, median } from '../trials.mjs';

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
								// One question each, so that what grows is the number of tasks alone.
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
