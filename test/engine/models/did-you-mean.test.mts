/** A mistyped model name: the nearest names, wherever it is noticed, and nothing that is not there. */
import { opened, sharedBench } from '../opened.mjs';
import { byName, deadAddress, hostFor, NODE, sendJson, serve, workflowOf } from '../workbench.mjs';

const bench = sharedBench();

const wrong = { model: byName('aurora-imag-1'), prompt: 'a fox' };
const NEAREST = /Did you mean 'aurora-image-1'/;

async function failing(
	parameters: object,
	credential: Record<string, unknown> = { baseUrl: bench.gateway.url },
	node: 'imageGeneration' | 'imageEdit' = 'imageGeneration',
) {
	const host = await hostFor(credential);
	const result = await host.run(workflowOf(node, { ...wrong, ...parameters }));
	const { message = '', description = '' } = (result.error ?? {}) as {
		message?: string;
		description?: string;
	};
	return { message, description, hints: result.hints(NODE) };
}

test('the error of a run', async () => {
	const { message, description } = await failing({});
	expect(message).toMatch(
		/^The gateway rejected the request \(400\): unknown model: aurora-imag-1/,
	);
	expect(description).toMatch(
		/^The gateway doesn't list the model 'aurora-imag-1'\. Did you mean '/,
	);
	expect(description).toMatch(NEAREST);
	expect(description).toMatch(/You weren't charged/);
	expect(bench.gateway.paid).toBe(0);
});

test("the model list isn't requested if no option needs it", async () => {
	const { description } = await failing({ options: { checkLimits: false } });
	expect(description).not.toMatch(/doesn't list|Did you mean/);
	expect(bench.gateway.count('listing')).toBe(0);
});

test("only models for the node's own operation are suggested", async () => {
	const model = (name: string, modes: string[], mediaType = 'image') => ({
		model: name,
		media_type: mediaType,
		modes,
	});
	const items = [
		model('aurora-edit', ['image_edit']),
		model('aurora-make', ['text_to_image']),
		model('aurora-film', ['text_to_image'], 'video'),
	];
	const own = await opened(
		serve((request, response) => {
			if (request.method === 'GET') return sendJson(response, { success: true, data: { items } });
			sendJson(response, { error: { message: 'model not found', type: 'x' } }, 404);
		}),
	);
	const { description } = await failing({ model: byName('aurora') }, { baseUrl: own.url });
	expect(description).toMatch(/Did you mean 'aurora-make'\?/);
	expect(description).not.toMatch(/film|edit/);
	const far = await failing({ model: byName('zzzz') }, { baseUrl: own.url });
	expect(far.description).toMatch(/doesn't list the model 'zzzz'\./);
	expect(far.description).not.toContain('Did you mean');
	// It is published: something else was refused.
	const there = await failing({ model: byName('aurora-make') }, { baseUrl: own.url });
	expect(there.description).not.toMatch(/doesn't list the model|Did you mean/);
});

test('without a model list, the error suggests no models', async () => {
	const { url: baseUrl } = bench.gateway;
	const mediaUrl = await deadAddress();
	const { message, description } = await failing({}, { baseUrl, mediaUrl });
	expect(message).toMatch(/unknown model/);
	expect(description).not.toMatch(/doesn't list|Did you mean/);
});

test('an unknown outcome and a rate limit say nothing about models', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'status', status: 502 }]);
	expect((await failing({})).description).not.toMatch(/doesn't list|Did you mean/);
});

test('a failed item suggests models too', async () => {
	const result = await bench.run(
		'imageGeneration',
		{ ...wrong, model: byName('={{ $json.model }}') },
		[{ model: 'aurora-image-1' }, { model: 'Aurora Image 2' }],
		{ onError: 'continueRegularOutput' },
	);
	const [good, failed] = result.json(NODE);
	expect(good).not.toHaveProperty('error');
	expect(JSON.stringify(failed!.details)).toMatch(/Did you mean 'aurora-image-1'/);
	expect(JSON.stringify(result.hints(NODE))).toMatch(
		/the model 'Aurora Image 2'.*Did you mean 'aurora/,
	);
});

test('n8n renders hints as HTML: the markup of a foreign name is shown as text', async () => {
	const link = '<a href="https://attacker.example">Sign in again</a>';
	const { hints } = await failing({ model: byName(link), options: { dryRun: true } });
	const texts = hints.map(({ message }) => message).join('\n');
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
	const hints = result.hints(NODE).map(({ message }) => message);
	expect(hints.length).toBeLessThan(15);
	expect(hints.some((hint) => /^There are 30 more hints/.test(hint))).toBe(true);
});
