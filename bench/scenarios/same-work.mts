import {
	bars,
	complete,
	cpu,
	requests,
	seconds,
	shown,
	times,
	wall,
	UNBOUND,
} from '../report/figures.mjs';
import type { Chart, Line, Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';

export const same: Scenario = {
	name: 'same',
	title: 'The same work as HTTP Request, Wait and If',
	async run({ quick }) {
		const lines: Line[] = [];
		let chart: Chart | undefined;
		const cases = quick ? [[100, 3, 3]] : [[100, 3, 3], [1000, 30, 5]]; // prettier-ignore
		for (const [count, lifeS, pauseS] of cases as Array<[number, number, number]>) {
			const task = { kind: 'tasks' as const, count, pauseS };
			const trials = await compare({
				gateway: { taskSeconds: lifeS },
				work: {
					package: () => ({ ...task, ...UNBOUND }),
					builtIn: () => task,
					axios: () => task,
					helper: () => ({ ...task, concurrency: UNBOUND.concurrency }),
				},
				// The short case is soon repeated, and its single runs differ the most.
				times: quick ? 1 : lifeS > 3 ? 3 : 7,
			});
			const list = trials.package;
			const ratio = median(list, wall) / median(trials.builtIn, wall);
			const cpuRatio = median(list, cpu) / median(trials.builtIn, cpu);
			const of = (pick: (trials: Trial[]) => string) => ({
				package: pick(list),
				builtIn: shown(trials.builtIn, () => pick(trials.builtIn)),
				byHand: pick(trials.axios),
				platform: pick(trials.helper),
			});
			const wallText = of((some) => seconds(median(some, wall)));
			const cpuText = of((some) => {
				const count = median(some, requests).toFixed(0);
				return `${seconds(median(some, cpu), 2)} for ${count} requests`;
			});
			lines.push(
				{
					measure: `${count} tasks of ${lifeS} s, pause ${pauseS} s: time`,
					goal: 'at most 1.1 × (a)',
					...wallText,
					package: `${wallText.package} (${times(ratio)})`,
					ideal: seconds(lifeS * 1000),
					reached: complete(list, count) && !(ratio > 1.1),
				},
				{
					measure: 'the same: processor time',
					goal: 'less than (a)',
					...cpuText,
					package: `${cpuText.package} (${times(cpuRatio)})`,
					reached: !(cpuRatio >= 1),
				},
			);
			chart = {
				title: `${count} tasks of ${lifeS} s, pause ${pauseS} s: processor time`,
				unit: 's',
				bars: bars(trials, (trial) => cpu(trial) / 1000),
			};
		}
		return { lines, chart };
	},
};
