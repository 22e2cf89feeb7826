import { peakMemory } from '../report/figures.mjs';
import type { Scenario } from '../report/lines.mjs';
import { compare } from '../trials.mjs';

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
