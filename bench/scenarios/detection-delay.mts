import { spreadLifetimes } from '../ideal.mjs';
import { seconds } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import { compare, type Trial } from '../trials.mjs';

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
