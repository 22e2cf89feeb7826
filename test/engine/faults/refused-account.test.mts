/** A refused key, or missing quota: what isn't sent yet isn't sent any more. */
import '../fast-time.mjs';
import { opened } from '../opened.mjs';
import { hostFor, NODE, sendJson, serve, workflowOf } from '../workbench.mjs';

const COUNT = 30;

/** Runs items whose models alternate; a refusal by model. */
async function run(refusals: Record<string, [status: number, error: object]>, models: string[]) {
	const asked: string[] = [];
	const own = await opened(
		serve((request, response) => {
			const chunks: Buffer[] = [];
			request.on('data', (chunk: Buffer) => chunks.push(chunk));
			request.on('end', () => {
				const { model } = JSON.parse(Buffer.concat(chunks).toString()) as { model: string };
				asked.push(model);
				const [status, error] = refusals[model] ?? [];
				if (status !== undefined) return sendJson(response, { error }, status);
				return sendJson(response, {
					data: [{ url: `https://images.example/${asked.length}.png` }],
				});
			});
		}),
	);
	const host = await hostFor({ baseUrl: own.url });
	const workflow = workflowOf(
		'imageGeneration',
		{
			...{ prompt: '={{ "fox " + $itemIndex }}', download: false },
			model: { __rl: true, mode: 'name', value: '={{ $json.model }}' },
			options: { checkLimits: false, concurrency: 2 },
		},
		{ onError: 'continueRegularOutput' },
	);
	const items = Array.from({ length: COUNT }, (_, at) => ({
		json: { model: models[at % models.length] },
	}));
	const result = await host.run(workflow, { input: items });
	const rows = result.json(NODE) as Array<{ error?: string; details?: Record<string, string> }>;
	return { asked, rows, hints: result.hints(NODE).map(({ message }) => message) };
}

test.each<[string, number, object]>([
	['a refused key', 401, { message: 'Invalid API key', code: 'invalid_api_key' }],
	['401 without a word', 401, {}],
	['missing quota, by its code', 403, { message: 'no', code: 'insufficient_user_quota' }],
	['missing quota, by 429 and its code', 429, { message: 'no', type: 'insufficient_quota' }],
])('%s: the others fail for the same reason, and nothing is sent', async (_, status, error) => {
	const { asked, rows, hints } = await run({ a: [status, error] }, ['a']);
	// Those in flight, and a second attempt where quota is missing.
	expect(asked.length).toBeLessThanOrEqual(4);
	const reasons = new Set(rows.map(({ error: text = '' }) => text.replace(/ \(tried.*/, '')));
	expect(reasons.size).toBe(1);
	expect(rows.at(-1)!.details).toMatchObject({
		charged: 'no',
		httpCode: status,
		description: expect.stringContaining('Nothing was sent'),
	});
	expect(hints.at(-1)).toMatch(/^0 images; 30 items failed: [^×]*\.$/);
});

test.each<[string, object]>([
	['names the model', { message: "This token may not use the model 'a'" }],
	['says nothing', { message: 'Unauthorized' }],
	['is of another service', { message: 'upstream: invalid key', type: 'upstream_error' }],
])('a 401 for one model that %s is not the key', async (_, error) => {
	const { rows } = await run({ a: [401, error] }, ['a', 'b']);
	expect(rows.filter((row) => row.error === undefined)).toHaveLength(COUNT / 2);
});
