/** When the items that aren't sent yet would get the refusals of those that were. */
import { SharedRefusals } from '../../../gateway/pace/sharedRefusals.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { planImages } from '../../../gateway/protocol/requestPlan.js';
import { response } from '../virtual-gateway.mjs';

const REVOKED = response(401, { error: { message: 'revoked' } });
const QUOTA = response(429, { error: { type: 'insufficient_quota' } });
const DONE = response(200, { data: [{ url: 'https://h.example/x' }] });
const FAULT: Outcome = { kind: 'fault', fault: 'reset', detail: '' };

const plan = (item?: number) => ({
	...planImages('generation', { model: 'm', prompt: 'p' }),
	item,
});

/** The response of the others after these, of an item each, while so many are under way. */
async function after(
	outcomes: Outcome[],
	underWay = 0,
	itemOf = (index: number) => index as number | undefined,
) {
	const refusals = new SharedRefusals();
	const never = new Promise<Outcome>(() => undefined);
	for (let index = 0; index < underWay; index += 1) void refusals.watch(plan(1000 + index), never);
	for (const [index, outcome] of outcomes.entries()) {
		const noted = await refusals.watch(plan(itemOf(index)), Promise.resolve(outcome));
		expect(noted).toBe(outcome);
	}
	return refusals.shared;
}

const times = (count: number, outcome: Outcome) => Array<Outcome>(count).fill(outcome);

test.each<[string, Outcome[]]>([
	['three 401', times(3, REVOKED)],
	['three for money', times(3, QUOTA)],
	['some of each', [REVOKED, QUOTA, REVOKED]],
	['faults between them', [REVOKED, FAULT, REVOKED, FAULT, REVOKED]],
	['what says nothing of the key', [403, 407, 429, 500, 503, 302, 404].map((code) => response(code, {})).concat(times(3, REVOKED))], // prettier-ignore
])('%s before anything was accepted: the others get the first', async (_, outcomes) => {
	const first = outcomes.find((outcome) => outcome === REVOKED || outcome === QUOTA);
	expect(await after(outcomes)).toEqual({ ...first, headers: {} });
});

test.each<[string, Outcome[]]>([
	['two refusals', times(2, REVOKED)],
	['one accepted before them', [DONE, ...times(20, REVOKED)]],
	['one accepted after them', [...times(20, REVOKED), DONE]],
	['parameters refused before them', [response(400, {}), ...times(20, REVOKED)]],
	['parameters refused after them', [...times(20, QUOTA), response(422, {})]],
	['other refusals', times(20, response(403, {}))],
	['money without a code', times(20, response(402, { error: { message: 'Top up' } }))],
])('%s: the others are sent', async (_, outcomes) => {
	expect(await after(outcomes)).toBeUndefined();
});

test('an item counts once, and an agent not at all', async () => {
	expect(await after(times(9, QUOTA), 0, (index) => index % 2)).toBeUndefined();
	expect(await after(times(9, REVOKED), 0, () => undefined)).toBeUndefined();
});

test.each([
	[2, 0, false],
	[3, 0, true],
	[3, 1, false],
	[4, 1, true],
	[11, 9, false],
	[12, 9, true],
])('%d refused while %d are under way: %s', async (refused, underWay, isShared) => {
	expect((await after(times(refused, REVOKED), underWay)) !== undefined).toBe(isShared);
});
