import { bars, complete, seconds, shown, wall, whoFinished } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import { compare, median } from '../trials.mjs';

export const refusing: Scenario = {
	name: 'refusing',
	title: '200 jobs at a gateway that refuses what is too much',
	async run({ quick }) {
		const [count, perSecond, lifeS, pauseS] = [200, 30, 3, 3];
		// One request submits a job, one finds it finished; there is time enough for both.
		// So many at the start, so many a second later, and so on; responses take no time.
		const idealS = Math.ceil((2 * count) / perSecond) - 1;
		const task = { kind: 'tasks' as const, count, pauseS };
		const trials = await compare({
			gateway: { taskSeconds: lifeS, requestsPerSecond: perSecond },
			work: {
				package: () => task,
				singleNode: () => ({ ...task, nodes: 1 }),
				builtIn: () => task,
				axios: () => task,
			},
			times: quick ? 1 : 3,
			warmUp: 3,
		});
		const ways = [
			['submitted by one node, waited for by another', trials.package],
			['submitted and waited for by one node', trials.singleNode],
		] as const;
		const lines = ways.flatMap(([way, list]): Line[] => {
			const ms = median(list, wall);
			const share = median(list, ({ report }) => report.refused / report.total);
			return [
				{
					measure: `${count} jobs of ${lifeS} s, ${perSecond} requests/s allowed, ${way}: all results`,
					goal: `at most ${seconds(idealS * 1250)} (1.25 × the ideal under the limit)`,
					package: whoFinished(list[list.length >> 1]!, count),
					builtIn: shown(trials.builtIn, () => whoFinished(trials.builtIn[0]!, count)),
					byHand: whoFinished(trials.axios[0]!, count),
					ideal: seconds(idealS * 1000),
					reached: complete(list, count) && ms <= idealS * 1250,
				},
				{
					measure: 'the same: refused requests',
					goal: 'less than 10 %',
					package: `${(100 * share).toFixed(1)} %`,
					ideal: '0 %',
					reached: share < 0.1,
				},
			];
		});
		const chart = {
			title: `${count} jobs, ${perSecond} requests/s allowed`,
			unit: 's',
			bars: bars(trials, (trial) => wall(trial) / 1000, idealS),
			mark: idealS * 1.25,
		};
		return { lines, chart };
	},
};
