/** How figures are taken from trials, and how they are written. */
import { median, type Trial, type Trials } from '../trials.mjs';
import type { Allowance } from '../work.mjs';
import type { Chart, Line } from './lines.mjs';

export const MB = 1024 * 1024;
/** So that neither the package's own limits nor those of the gateway play a part. */
export const UNBOUND: Allowance = { concurrency: 100, requestsPerSecond: 10_000 };

export const seconds = (ms: number, digits = 1) => `${(ms / 1000).toFixed(digits)} s`;
export const mb = (bytes: number) => `${(bytes / MB).toFixed(0)} MB`;
export const times = (ratio: number) => `${ratio.toFixed(2)} ×`;
export const wall = ({ sample }: Trial) => sample.wallMs;
export const cpu = ({ sample }: Trial) => sample.cpuMs;
export const peak = ({ sample }: Trial) => sample.peakRss - sample.idleRss;
export const grownLive = ({ sample }: Trial) => (sample.midLive ?? NaN) - (sample.idleLive ?? NaN);
export const requests = ({ report }: Trial) => report.total;

/** A figure of a candidate that may not have taken part. */
export function shown(trials: Trial[], text: () => string): string | undefined {
	return trials.length === 0 ? undefined : text();
}

/** Whether every trial gave the expected number of results; says what did not. */
export function complete(trials: Trial[], count: number): boolean {
	const short = trials.filter(({ sample }) => sample.good !== count || sample.error !== undefined);
	for (const { sample } of short) {
		console.log(`  ${sample.good} of ${count} results: ${sample.error ?? 'no error'}`);
	}
	return short.length === 0;
}

export function whoFinished({ sample, report }: Trial, count: number): string {
	if (sample.good === count && sample.error === undefined) return seconds(sample.wallMs);
	return (
		`fails after ${seconds(sample.wallMs)}: ${sample.good} of ${count} results, ` +
		`${report.paid - sample.good} paid tasks lost`
	);
}

export function bars(
	trials: Trials,
	pick: (trial: Trial) => number,
	ideal?: number,
): Chart['bars'] {
	const names = {
		package: 'this package',
		builtIn: 'HTTP Request + Wait + If',
		axios: 'axios by hand',
		helper: "n8n's HTTP helper alone",
	};
	const measured = Object.entries(names).flatMap(([candidate, name]) => {
		const list = trials[candidate as keyof Trials];
		const failed = list.some(({ sample }) => sample.error !== undefined);
		const value = median(list, pick);
		return list.length === 0 ? [] : [{ name, value, note: failed ? 'fails' : undefined }];
	});
	return ideal === undefined ? measured : [...measured, { name: 'ideal', value: ideal }];
}

/** The line and the chart of how much memory a candidate takes at the most. */
export function peakMemory(title: string, trials: Trials, count: number, limitMb: number) {
	const bytes = median(trials.package, peak);
	const line: Line = {
		measure: `${title}: peak memory above idle`,
		goal: `at most ${limitMb} MB`,
		package: mb(bytes),
		byHand: mb(median(trials.axios, peak)),
		platform: shown(trials.helper, () => mb(median(trials.helper, peak))),
		reached: complete(trials.package, count) && bytes <= limitMb * MB,
	};
	const chart: Chart = {
		title: line.measure,
		unit: 'MB',
		bars: bars(trials, (trial) => peak(trial) / MB),
		mark: limitMb,
	};
	return { line, chart };
}
