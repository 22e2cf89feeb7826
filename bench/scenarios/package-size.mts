import { loadTimes, packedBytes } from '../load.mjs';
import type { Scenario } from '../report/lines.mjs';

export const size: Scenario = {
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
