import { complete, seconds, wall } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';
import type { Work } from '../work.mjs';

/** One image, one click. */
export const oneImage: Scenario = {
	name: 'one',
	title: 'One image',
	async run({ quick }) {
		const taskSeconds = 3;
		const one: Work = { kind: 'tasks', count: 1, pauseS: 3, nodes: 1 };
		const setup = { gateway: { taskSeconds }, times: quick ? 1 : 5, warmUp: one };
		const trials = await compare({
			...setup,
			work: { singleNode: () => one, builtIn: () => ({ ...one, nodes: undefined }) },
		});
		const list = trials.singleNode;
		const polls = ({ report }: Trial) => report.counts.poll ?? NaN;
		const ms = median(list, wall);
		return {
			lines: [
				{
					measure: `1 task of ${taskSeconds} s`,
					goal: 'at most 3.5 s',
					package: `${seconds(ms, 2)}, ${median(list, polls)} poll(s)`,
					builtIn:
						trials.builtIn.length === 0 ? undefined : seconds(median(trials.builtIn, wall), 2),
					ideal: seconds(taskSeconds * 1000, 2),
					reached: complete(list, 1) && ms <= 3500,
				},
			],
		};
	},
};
