/** The rows of the table: what is measured, what is to be reached, and what came out. */
import { idealSchedule, secondsUnderLimit, spreadLifetimes } from './ideal.mjs';
import { loadTimes, packedBytes } from './load.mjs';
import { compare, median, type Trial, type Trials } from './trials.mjs';
import type { Allowance } from './work.mjs';

export interface Line {
	measure: string;
	/** What is to be reached, in words. */
	goal: string;
	package: string;
	builtIn?: string;
	byHand?: string;
	/** n8n's own HTTP helper in the barest of nodes: no node can go below. */
	platform?: string;
	ideal?: string;
	reached: boolean;
}

export interface Chart {
	title: string;
	unit: string;
	/** Shorter is better. `mark` is what is to be reached. */
	bars: Array<{ name: string; value: number; note?: string }>;
	mark?: number;
}

export interface RowResult {
	lines: Line[];
	chart?: Chart;
}

export interface Row {
	name: string;
	title: string;
	run(options: RowOptions): Promise<RowResult>;
}

export interface RowOptions {
	/** Smaller and only once: to see whether it works. */
	quick: boolean;
}

const MB = 1024 * 1024;
/** So that neither the package's own limits nor those of the gateway play a part. */
const UNBOUND: Allowance = { concurrency: 100, requestsPerSecond: 10_000 };

const seconds = (ms: number, digits = 1) => `${(ms / 1000).toFixed(digits)} s`;
const mb = (bytes: number) => `${(bytes / MB).toFixed(0)} MB`;
const times = (ratio: number) => `${ratio.toFixed(2)} ×`;
const wall = ({ sample }: Trial) => sample.wallMs;
const cpu = ({ sample }: Trial) => sample.cpuMs;
const peak = ({ sample }: Trial) => sample.peakRss - sample.idleRss;
const grownLive = ({ sample }: Trial) => (sample.midLive ?? NaN) - (sample.idleLive ?? NaN);
const requests = ({ report }: Trial) => report.total;

/** A figure of a contestant that may not have taken part. */
function shown(trials: Trial[], text: () => string): string | undefined {
	return trials.length === 0 ? undefined : text();
}

/** Whether every trial gave the expected number of results; says what did not. */
function complete(trials: Trial[], count: number): boolean {
	const short = trials.filter(({ sample }) => sample.good !== count || sample.error !== undefined);
	for (const { sample } of short) {
		console.log(`  ${sample.good} of ${count} results: ${sample.error ?? 'no error'}`);
	}
	return short.length === 0;
}

function whoFinished({ sample, report }: Trial, count: number): string {
	if (sample.good === count && sample.error === undefined) return seconds(sample.wallMs);
	return (
		`fails after ${seconds(sample.wallMs)}: ${sample.good} of ${count} results, ` +
		`${report.paid - sample.good} paid tasks lost`
	);
}

function bars(trials: Trials, pick: (trial: Trial) => number, ideal?: number): Chart['bars'] {
	const names = {
		package: 'this package',
		builtIn: 'HTTP Request + Wait + If',
		byHand: 'axios by hand',
		platform: "n8n's HTTP helper alone",
	};
	const measured = Object.entries(names).flatMap(([contestant, name]) => {
		const list = trials[contestant as keyof Trials];
		const failed = list.some(({ sample }) => sample.error !== undefined);
		const value = median(list, pick);
		return list.length === 0 ? [] : [{ name, value, note: failed ? 'fails' : undefined }];
	});
	return ideal === undefined ? measured : [...measured, { name: 'ideal', value: ideal }];
}

const hundred: Row = {
	name: 'hundred',
	title: '100 tasks of 3 s',
	async run({ quick }) {
		const count = 100;
		const lifeS = 3;
		const pauseS = 3;
		const task = { kind: 'tasks' as const, count, pauseS };
		const trials = await compare({
			gateway: { taskSeconds: lifeS },
			work: { package: () => task, builtIn: () => task, byHand: () => task },
			times: quick ? 1 : 5,
		});
		const ms = median(trials.package, wall);
		const limitMs = 1.2 * (lifeS + pauseS) * 1000;
		const oneByOneMs = count * lifeS * 1000;
		return {
			lines: [
				{
					measure: `${count} tasks of ${lifeS} s, submitted and waited for, pause ${pauseS} s, all defaults`,
					goal: `at most ${seconds(limitMs)} (1.2 × (slowest task + one pause))`,
					package: seconds(ms),
					builtIn: shown(trials.builtIn, () => seconds(median(trials.builtIn, wall))),
					byHand: seconds(median(trials.byHand, wall)),
					ideal: seconds(lifeS * 1000),
					reached: complete(trials.package, count) && ms <= limitMs,
				},
				{
					measure: 'the same against one task after another',
					goal: 'at least 40 × faster',
					package: `${(oneByOneMs / ms).toFixed(0)} ×`,
					ideal: `${count} ×`,
					reached: oneByOneMs / ms >= 40,
				},
			],
			chart: {
				title: `${count} tasks of ${lifeS} s`,
				unit: 's',
				bars: bars(trials, (trial) => wall(trial) / 1000, lifeS),
				mark: limitMs / 1000,
			},
		};
	},
};

const limit: Row = {
	name: 'limit',
	title: 'Many tasks under a limit',
	async run({ quick }) {
		const [count, perSecond, longestS] = quick ? [300, 30, 20] : [1000, 50, 60];
		const pauseS = 3;
		const lifetimes = spreadLifetimes(count, 5, longestS);
		const ideal = idealSchedule(lifetimes, pauseS, perSecond);
		const trials = await compare({
			gateway: { requestsPerSecond: perSecond },
			lifetimes,
			work: { package: (ids) => ({ kind: 'wait', ids, pauseS }) },
			times: quick ? 1 : 3,
			warmUp: 3,
		});
		const list = trials.package;
		const lastMs = median(list, ({ report }) => report.lastSeenMs);
		const polls = median(list, ({ report }) => report.counts.poll ?? 0);
		const refused = median(list, ({ report }) => report.refused);
		const what = `${count} tasks of 5 to ${longestS} s, ${perSecond} requests/s allowed`;
		return {
			lines: [
				{
					measure: `${what}, which the node is not told: last result`,
					goal: `at most ${seconds(ideal.lastS * 1100)} (10 % after the ideal schedule)`,
					package: seconds(lastMs),
					ideal: seconds(ideal.lastS * 1000),
					reached: complete(list, count) && lastMs <= ideal.lastS * 1100,
				},
				{
					measure: 'the same: polls',
					goal: `at most ${Math.floor(1.2 * ideal.polls)} (1.2 × the ideal schedule)`,
					package: `${polls.toFixed(0)}, of them ${refused.toFixed(0)} refused`,
					ideal: String(ideal.polls),
					reached: polls <= 1.2 * ideal.polls,
				},
			],
		};
	},
};

const same: Row = {
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
					byHand: () => task,
					platform: () => ({ ...task, concurrency: UNBOUND.concurrency }),
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
				byHand: pick(trials.byHand),
				platform: pick(trials.platform),
			});
			const wallText = of((some) => seconds(median(some, wall)));
			const cpuText = of((some) => {
				const count = median(some, requests).toFixed(0);
				return `${seconds(median(some, cpu), 2)} for ${count} requests`;
			});
			lines.push(
				{
					measure: `${count} tasks of ${lifeS} s, pause ${pauseS} s, nothing going wrong: time`,
					goal: 'at most 1.1 × (a)',
					...wallText,
					package: `${wallText.package} (${times(ratio)})`,
					ideal: seconds(lifeS * 1000),
					reached: complete(list, count) && !(ratio > 1.1),
				},
				{
					measure: 'the same: processor time',
					goal: 'at most 0.7 × (a)',
					...cpuText,
					package: `${cpuText.package} (${times(cpuRatio)})`,
					reached: !(cpuRatio > 0.7),
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

const refusing: Row = {
	name: 'refusing',
	title: '200 jobs at a gateway that refuses what is too much',
	async run({ quick }) {
		const [count, perSecond, lifeS, pauseS] = [200, 30, 3, 3];
		// One request submits a job, one finds it finished; there is time enough for both.
		const idealS = secondsUnderLimit(2 * count, perSecond);
		const task = { kind: 'tasks' as const, count, pauseS };
		const trials = await compare({
			gateway: { taskSeconds: lifeS, requestsPerSecond: perSecond },
			work: {
				package: () => task,
				packageAgain: () => ({ ...task, nodes: 1 }),
				builtIn: () => task,
				byHand: () => task,
			},
			times: quick ? 1 : 3,
			warmUp: 3,
		});
		const ways = [
			['submitted by one node, waited for by another', trials.package],
			['submitted and waited for by one node', trials.packageAgain],
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
					byHand: whoFinished(trials.byHand[0]!, count),
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

const delay: Row = {
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
				work: { package: work, byHand: work },
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
				byHand: seconds(of(trials.byHand), 2),
				ideal: '0 s',
				reached: ms <= 600 * pauseS,
			});
		}
		return { lines };
	},
};

const waiting: Row = {
	name: 'waiting',
	title: '1,000 waiting tasks',
	async run({ quick }) {
		const [count, lifeS, pauseS] = [1000, quick ? 10 : 25, 3];
		const lookAfterMs = (lifeS - 3) * 1000;
		const trials = await compare({
			gateway: {},
			lifetimes: Array.from({ length: count }, () => lifeS),
			work: {
				package: (ids) => ({ kind: 'wait', ids, pauseS, lookAfterMs }),
				byHand: (ids) => ({ kind: 'wait', ids, pauseS, lookAfterMs }),
			},
			times: quick ? 1 : 3,
		});
		const p99 = (some: Trial[]) => median(some, ({ sample }) => sample.loopDelayP99Ms ?? NaN);
		const live = (some: Trial[]) => median(some, grownLive);
		const list = trials.package;
		const delayOf = (some: Trial[]) => `${p99(some).toFixed(1)} ms`;
		const memoryOf = (some: Trial[]) => `${mb(live(some))} (resident: ${mb(median(some, peak))})`;
		return {
			lines: [
				{
					measure: `Event-loop delay while ${count} tasks wait, 99th percentile`,
					goal: 'at most 20 ms',
					package: delayOf(list),
					byHand: delayOf(trials.byHand),
					reached: complete(list, count) && p99(list) <= 20,
				},
				{
					measure: `Memory for ${count} waiting tasks above idle: alive (peak of the process)`,
					goal: 'at most 30 MB',
					package: memoryOf(list),
					byHand: memoryOf(trials.byHand),
					reached: live(list) <= 30 * MB,
				},
			],
		};
	},
};

const synchronous: Row = {
	name: 'sync',
	title: 'Synchronous generations',
	async run({ quick }) {
		const [count, concurrency, syncMs] = [200, 10, 200];
		const idealMs = (count / concurrency) * syncMs;
		const work = () => ({ kind: 'generate' as const, count, concurrency });
		const trials = await compare({
			gateway: { syncMs },
			work: { package: work, byHand: work, platform: work },
			times: quick ? 1 : 5,
		});
		const ms = median(trials.package, wall);
		const byHandMs = median(trials.byHand, wall);
		const shared = {
			byHand: seconds(byHandMs, 2),
			platform: seconds(median(trials.platform, wall), 2),
			ideal: seconds(idealMs, 2),
		};
		return {
			lines: [
				{
					measure: `${count} synchronous generations of ${syncMs} ms, ${concurrency} at a time`,
					goal: `at most ${seconds(1.15 * idealMs, 2)} (1.15 × ideal)`,
					package: seconds(ms, 2),
					...shared,
					reached: complete(trials.package, count) && ms <= 1.15 * idealMs,
				},
				{
					measure: 'the same against (b)',
					goal: 'at least as fast',
					package: times(ms / byHandMs),
					platform: times(median(trials.platform, wall) / byHandMs),
					ideal: times(idealMs / byHandMs),
					reached: ms <= byHandMs,
				},
			],
		};
	},
};

const processor: Row = {
	name: 'cpu',
	title: 'Processor time of a request',
	async run({ quick }) {
		const count = quick ? 500 : 2000;
		// The HTTP Request node sends all at once, which is cheaper for each: so the others send many.
		const work = () => ({ kind: 'generate' as const, count, ...UNBOUND });
		const trials = await compare({
			gateway: {},
			work: { package: work, builtIn: work, byHand: work, platform: work, careful: work },
			times: quick ? 1 : 5,
			warmUp: 300,
		});
		const perRequest = (trial: Trial) => cpu(trial) / count;
		const of = (list: Trial[]) => median(list, perRequest);
		const ms = of(trials.package);
		const text = (value: number) => `${value.toFixed(2)} ms`;
		const share = (list: Trial[]) => `${text(of(list))} (${times(of(list) / of(trials.byHand))})`;
		const builtIn = shown(trials.builtIn, () => text(of(trials.builtIn)));
		return {
			lines: [
				{
					measure: `Processor time per request, ${count} synchronous generations, 100 at a time`,
					goal: `at most 1.5 × (b)`,
					package: share(trials.package),
					builtIn,
					byHand: text(of(trials.byHand)),
					platform: `${share(trials.platform)}, with a bound and a deadline ${share(trials.careful)}`,
					reached: ms <= 1.5 * of(trials.byHand),
				},
				{
					measure: 'the same against the HTTP Request node',
					goal: 'less',
					package: text(ms),
					builtIn,
					platform: `${text(of(trials.platform))}, ${text(of(trials.careful))}`,
					reached: complete(trials.package, count) && !(ms >= of(trials.builtIn)),
				},
			],
			chart: {
				title: 'Processor time of one request',
				unit: 'ms',
				bars: bars(trials, perRequest),
			},
		};
	},
};

/** The line and the chart of how much memory a contestant takes at the most. */
function peakMemory(title: string, trials: Trials, count: number, limitMb: number) {
	const bytes = median(trials.package, peak);
	const line: Line = {
		measure: `${title}: peak memory above idle`,
		goal: `at most ${limitMb} MB`,
		package: mb(bytes),
		byHand: mb(median(trials.byHand, peak)),
		platform: shown(trials.platform, () => mb(median(trials.platform, peak))),
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

const downloads: Row = {
	name: 'download',
	title: 'Downloads',
	async run({ quick }) {
		const [count, bytes] = [quick ? 20 : 100, 10_000_000];
		const work = (ids: string[]) =>
			({ kind: 'wait', ids, pauseS: 3, download: true, concurrency: 10 }) as const;
		const trials = await compare({
			gateway: { imageBytes: bytes },
			lifetimes: Array.from({ length: count }, () => 0),
			work: { package: work, byHand: work, platform: work },
			// The figures of single runs lie far apart.
			times: quick ? 1 : 7,
		});
		const rate = (trial: Trial) => (count * bytes) / 1e6 / (wall(trial) / 1000);
		const [ours, theirs] = [median(trials.package, rate), median(trials.byHand, rate)];
		const platform = median(trials.platform, rate);
		const { line, chart } = peakMemory(
			`${count} downloads of 10 MB into the file system`,
			trials,
			count,
			120,
		);
		return {
			lines: [
				line,
				{
					measure: 'the same: throughput',
					goal: 'at least 0.9 × (b)',
					package: `${ours.toFixed(0)} MB/s (${times(ours / theirs)})`,
					byHand: `${theirs.toFixed(0)} MB/s`,
					platform: `${platform.toFixed(0)} MB/s (${times(platform / theirs)})`,
					reached: ours >= 0.9 * theirs,
				},
			],
			chart,
		};
	},
};

const uploads: Row = {
	name: 'upload',
	title: 'Uploads',
	async run({ quick }) {
		const [count, bytes] = [quick ? 5 : 20, 20_000_000];
		const work = () => ({ kind: 'edit' as const, count, bytes });
		const trials = await compare({
			gateway: {},
			work: { package: work, byHand: work },
			times: quick ? 1 : 3,
		});
		const { line, chart } = peakMemory(`${count} uploads of 20 MB`, trials, count, 100);
		return { lines: [line], chart };
	},
};

const size: Row = {
	name: 'package',
	title: 'The package',
	async run({ quick }) {
		const bytes = packedBytes();
		const { insideN8nMs, aloneMs } = loadTimes(quick ? 3 : 11);
		return {
			lines: [
				{
					measure: 'Packed package',
					goal: 'at most 80 kB',
					package: `${(bytes / 1000).toFixed(1)} kB`,
					reached: bytes <= 80_000,
				},
				{
					measure: `Loading all nodes in a fresh process, n8n-workflow there before (${aloneMs.toFixed(0)} ms with it)`,
					goal: 'at most 60 ms',
					package: `${insideN8nMs.toFixed(0)} ms`,
					reached: insideN8nMs <= 60,
				},
			],
		};
	},
};

const growth: Row = {
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

export const rows: Row[] = [
	hundred,
	limit,
	same,
	refusing,
	delay,
	waiting,
	synchronous,
	processor,
	downloads,
	uploads,
	size,
	growth,
];
