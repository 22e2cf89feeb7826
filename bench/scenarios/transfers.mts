import { peakMemory, times, wall } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';

export const downloads: Scenario = {
	name: 'download',
	title: 'Downloads',
	async run({ quick }) {
		const [count, bytes] = [quick ? 20 : 100, 10_000_000];
		const work = (ids: string[]) =>
			({ kind: 'wait', ids, pauseS: 3, download: true, concurrency: 10 }) as const;
		const trials = await compare({
			gateway: { imageBytes: bytes },
			lifetimes: Array.from({ length: count }, () => 0),
			work: { package: work, axios: work, helper: work },
			// The figures of single runs lie far apart.
			times: quick ? 1 : 7,
		});
		const rate = (trial: Trial) => (count * bytes) / 1e6 / (wall(trial) / 1000);
		const [ours, theirs] = [median(trials.package, rate), median(trials.axios, rate)];
		const platform = median(trials.helper, rate);
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

export const uploads: Scenario = {
	name: 'upload',
	title: 'Uploads',
	async run({ quick }) {
		const [count, bytes] = [quick ? 5 : 20, 20_000_000];
		const work = () => ({ kind: 'edit' as const, count, bytes });
		const trials = await compare({
			gateway: {},
			work: { package: work, axios: work },
			times: quick ? 1 : 3,
		});
		const { line, chart } = peakMemory(`${count} uploads of 20 MB`, trials, count, 100);
		return { lines: [line], chart };
	},
};
