/** Models that the list doesn't have: their requests are sent unchecked, with a hint. */
import type { RunResult } from '../../../harness/engine/host.mjs';
import { opened } from '../opened.mjs';
import { byName, NODE, openBench, type Bench } from '../workbench.mjs';

let bench: Bench;
beforeAll(async () => {
	bench = await opened(openBench());
});
beforeEach(() => bench.gateway.reset());

const hintsOf = (result: RunResult) => result.hints(NODE).map(({ message }) => message);

test('n8n renders hints as HTML: the markup of a foreign name is shown as text', async () => {
	const link = '<a href="https://attacker.example">Sign in again</a>';
	const parameters = { model: byName(link), prompt: 'a fox', options: { dryRun: true } };
	const result = await bench.run('imageGeneration', parameters);
	const texts = hintsOf(result).join('\n');
	expect(texts).toContain('&lt;a href="https://attacker.example"&gt;Sign in again&lt;/a&gt;');
	expect(texts).not.toContain('<a');
});

test('a batch with many unlisted models shows a few hints, not one for each', async () => {
	const items = Array.from({ length: 40 }, (_, index) => ({ name: `unlisted-${index}` }));
	const result = await bench.run(
		'imageGeneration',
		{ model: byName('={{ $json.name }}'), prompt: 'a fox' },
		items,
		{ onError: 'continueRegularOutput' },
	);
	const hints = hintsOf(result);
	expect(hints.length).toBeLessThan(15);
	expect(hints.some((hint) => /^There are 30 more hints/.test(hint))).toBe(true);
});
