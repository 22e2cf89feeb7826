import { bars, complete, seconds, shown, wall } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';
import type { Work } from '../work.mjs';

const COUNT = 100;
const FROM_S = 2;
const TO_S = 8;
const MOST_LATE_MS = 1200;

/** How late the tasks of a trial were found on average, in milliseconds after their end. */
const late = ({ report: { delaysMs } }: Trial) =>
	delaysMs.reduce((sum, ms) => sum + ms, 0) / delaysMs.length;
const polls = ({ report }: Trial) => (report.counts.poll ?? 0) / COUNT;
const lateText = (trials: Trial[]) =>
	`${seconds(median(trials, late), 2)} late, ${median(trials, polls).toFixed(1)} polls each`;

/** Durations that no fixed pause can fit. */
export const hundred: Scenario = {
	name: 'hundred',
	title: `${COUNT} tasks of ${FROM_S} to ${TO_S} s at random`,
	async run({ quick }) {
		const task: Work = { kind: 'tasks', count: COUNT, pauseS: 3 };
		const own: Work = { ...task, nodes: 1 };
		const setup = {
			gateway: { taskSeconds: [FROM_S, TO_S] as [number, number] },
			times: quick ? 1 : 3,
		};
		const trials = await compare({
			...setup,
			work: { package: () => own, builtIn: () => task, axios: () => task },
		});
		const list = trials.package;
		const [lateMs, pollsEach] = [median(list, late), median(list, polls)];
		const found: Line = {
			measure: `${COUNT} tasks of ${FROM_S} to ${TO_S} s at random: found on average`,
			goal: `at most ${seconds(MOST_LATE_MS)} late, 3 polls each`,
			package: lateText(list),
			builtIn: shown(trials.builtIn, () => lateText(trials.builtIn)),
			byHand: lateText(trials.axios),
			ideal: '0 s',
			reached: complete(list, COUNT) && lateMs <= MOST_LATE_MS && pollsEach <= 3,
		};
		const inAll: Line = {
			measure: 'the same: all results',
			goal: 'at most 1.1 × (a)',
			package: seconds(median(list, wall)),
			builtIn: shown(trials.builtIn, () => seconds(median(trials.builtIn, wall))),
			byHand: seconds(median(trials.axios, wall)),
			ideal: seconds(TO_S * 1000),
			reached: !(median(list, wall) > 1.1 * median(trials.builtIn, wall)),
		};
		return {
			lines: [found, inAll],
			chart: {
				title: `${COUNT} tasks of ${FROM_S} to ${TO_S} s: found after their end`,
				unit: 's',
				bars: bars(trials, (trial) => late(trial) / 1000, 0),
				mark: MOST_LATE_MS / 1000,
			},
		};
	},
};
