/** A refusal that the other requests of a run would get too: they aren't sent, and are told why. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Fault } from '../../../simulator/gateway.mjs';
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, NODE } from '../workbench.mjs';

const bench = sharedBench();

const refusal = (more: Partial<Fault>): Fault => ({ call: 'any', kind: 'status', ...more });
const REVOKED = refusal({ status: 401, message: 'API key invalid' });
const QUOTA = refusal({ status: 429, type: 'insufficient_quota', message: 'Top up' });

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `number ${index}.`);

/** Runs requests of which a failed one doesn't end the others. */
async function run(models: string[], parameters: IDataObject = {}, type?: 'message') {
	const items = numbered(models.length).map((prompt, index) => ({ prompt, model: models[index] }));
	const result = await bench.run(
		type ?? 'imageGeneration',
		{
			mode: 'submit',
			model: byName('={{ $json.model }}'),
			prompt: '={{ $json.prompt }}',
			...parameters,
		},
		items,
		{ onError: 'continueRegularOutput' },
	);
	return result
		.json(NODE)
		.map(({ error, details }): IDataObject => ({ error, ...(details as IDataObject) }));
}

const sent = () => bench.gateway.count('submit') + bench.gateway.count('message');
/** Ten are under way at a time, and three more must have been refused. */
const MOST_SENT = 2 * 10 + 3;
const NOT_SENT = 'Nothing was sent: an earlier request got this response.';

test.each<[string, Fault, string]>([
	['a key', REVOKED, 'The gateway rejected the API key (401): API key invalid'],
	['missing quota', QUOTA, 'Insufficient quota (429): Top up (tried 2 times)'],
])('51 submits at a gateway that refuses %s', async (_, fault, told) => {
	bench.gateway.setFaults([fault]);
	const failed = await run(Array<string>(51).fill(MODEL));
	expect(sent()).toBeLessThanOrEqual(2 * MOST_SENT);
	expect(failed.map(({ prompt }) => prompt)).toEqual(numbered(51));
	expect(failed.every(({ charged }) => charged === 'no')).toBe(true);
	const unsent = failed.filter(({ description }) => String(description).includes(NOT_SENT));
	expect(unsent.length).toBeGreaterThanOrEqual(51 - MOST_SENT);
	expect(new Set(unsent.map(({ error }) => error))).toEqual(
		new Set([told.replace(' (tried 2 times)', '')]),
	);
	expect(failed[0]!.error).toBe(told);
	expect(bench.gateway.paid).toBe(0);
});

test('a message, too', async () => {
	bench.gateway.setFaults([REVOKED]);
	const parameters = { text: '={{ $json.prompt }}', prompt: undefined, mode: undefined };
	const failed = await run(Array<string>(51).fill('reason-small'), parameters, 'message');
	expect([failed.length, failed.filter(({ charged }) => charged === 'no').length]).toEqual([
		51, 51,
	]);
	expect(sent()).toBeLessThanOrEqual(MOST_SENT);
});

test('a 401 for one model of three: the others are sent', async () => {
	const models = ['plain-image', MODEL, 'aurora-studio'];
	const rows = Array.from({ length: 60 }, (_, index) => models[index % 3]!);
	bench.gateway.setFaults(
		rows.flatMap((model, index) =>
			model === 'plain-image' ? [{ ...REVOKED, match: `number ${index}.` }] : [],
		),
	);
	const results = await run(rows);
	expect(results.map(({ error }) => error === undefined)).toEqual(
		rows.map((model) => model !== 'plain-image'),
	);
	expect(bench.gateway.paid).toBe(40);
});

const SMALL = refusal({ status: 403, type: 'insufficient_user_quota' });

test.each<[string, Partial<Fault>, number[]]>([
	['two keys refused by mistake, before anything was accepted', REVOKED, [0, 1]],
	['one key refused by mistake', REVOKED, [1]],
	['quota that is too small for some requests', SMALL, [1, 3, 5, 7, 9, 10, 12]],
])('%s: the others are sent', async (_, fault, refused) => {
	bench.gateway.setFaults(
		refused.map((index) => ({ ...refusal(fault), match: `number ${index}.` })),
	);
	const results = await run(Array<string>(30).fill(MODEL), { options: { concurrency: 1 } });
	expect(results.flatMap(({ error }, index) => (error === undefined ? [] : [index]))).toEqual(
		refused,
	);
});

test('one at a time, the first three are refused by mistake: the others are not sent', async () => {
	bench.gateway.setFaults([0, 1, 2].map((index) => ({ ...REVOKED, match: `number ${index}.` })));
	const results = await run(Array<string>(12).fill(MODEL), { options: { concurrency: 1 } });
	expect(results.filter(({ error }) => error === undefined)).toEqual([]);
	expect([sent(), bench.gateway.paid]).toEqual([3, 0]);
});

test.each<[string, Fault, number]>([
	['a key that is revoked', REVOKED, 1],
	['quota that is used up', QUOTA, 2],
])(
	'%s in the middle, once it has worked: each item is told its own refusal',
	async (_, fault, tries) => {
		bench.gateway.setFaults([{ ...fault, call: 'submit', after: 20 }]);
		const results = await run(Array<string>(51).fill(MODEL));
		const failed = results.filter(({ error }) => error !== undefined);
		expect([failed.length, bench.gateway.paid]).toEqual([31, 20]);
		expect(failed.every(({ charged }) => charged === 'no')).toBe(true);
		expect(failed.some(({ description }) => String(description).includes(NOT_SENT))).toBe(false);
		expect(sent()).toBe(20 + 31 * tries);
	},
);

test.each<[string, Fault]>([
	['a prompt', refusal({ status: 400, match: 'number 0.' })],
	['a permission', refusal({ status: 403, match: 'number 0.' })],
	['money without a code', refusal({ status: 402, match: 'number 0.' })],
])('a refusal for %s is that of its request', async (_, fault) => {
	bench.gateway.setFaults([fault]);
	const results = await run(Array<string>(12).fill(MODEL), { options: { concurrency: 1 } });
	expect(results.filter(({ error }) => error !== undefined)).toHaveLength(1);
});
