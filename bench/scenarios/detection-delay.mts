import { spreadLifetimes } from '../ideal.mjs';
import { complete, seconds, wall } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';
import type { Work } from '../work.mjs';

export const delay: Scenario = {
	name: 'delay',
	title: 'Detection delay',
	async run({ quick }) {
		const lines: Line[] = [];
		const cases = [[3, 3, 12], [3, 10, 40]] as const; // prettier-ignore
		for (const [pauseS, fromS, toS] of quick ? cases.slice(0, 1) : cases) {
			const work = (ids: string[]) => ({ kind: 'wait' as const, ids, pauseS });
			const trials = await compare({
				gateway: {},
				lifetimes: spreadLifetimes(10, fromS + 0.37, toS + 0.37),
				work: { package: work, axios: work },
				// Each gives ten delays.
				times: quick ? 1 : 2,
			});
			const of = (list: Trial[]) => {
				const delays = list.flatMap(({ report }) => report.delaysMs).sort((a, b) => a - b);
				return delays[delays.length >> 1] as number;
			};
			const ms = of(trials.package);
			lines.push({
				measure: `Detection delay, median, 10 tasks of ${fromS} to ${toS} s, pause ${pauseS} s`,
				goal: `at most ${seconds(600 * pauseS)} (0.6 × the pause)`,
				package: seconds(ms, 2),
				byHand: seconds(of(trials.axios), 2),
				ideal: '0 s',
				reached: ms <= 600 * pauseS,
			});
		}
		return { lines };
	},
};

/** One image, one click: what the process has learned from one task before. */
export const known: Scenario = {
	name: 'known',
	title: 'One image of a model seen before',
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
					measure: `1 task of ${taskSeconds} s, submitted and waited for, model seen once before`,
					goal: 'at most 3.6 s',
					package: `${seconds(ms, 2)}, ${median(list, polls)} poll(s)`,
					builtIn:
						trials.builtIn.length === 0 ? undefined : seconds(median(trials.builtIn, wall), 2),
					ideal: seconds(taskSeconds * 1000, 2),
					reached: complete(list, 1) && ms <= 3600,
				},
			],
		};
	},
};
