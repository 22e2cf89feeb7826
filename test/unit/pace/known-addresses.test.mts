import { addressOf, KnownAddresses } from '../../../gateway/pace/knownAddresses.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { planModelList } from '../../../gateway/models/models.js';
import {
	planDownload,
	planGeneration,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { FakeClock } from '../fake-clock.mjs';
import { fault, page, response } from '../virtual-gateway.mjs';

const submit = planGeneration({ model: 'painter', prompt: 'a red boat' });
const poll = planTaskQuery('generation', 't1');
const image = planDownload('https://images.example/1.png');
const refused = fault('refused');

/** The addresses of a run that began a while ago. */
async function addresses() {
	const clock = new FakeClock();
	await clock.pass(1_000_000);
	const known = new KnownAddresses(clock.now);
	/** For how long there has been nothing after this outcome of a request. */
	const after = (plan: RequestPlan, outcome: Outcome, isForPaid = false) => {
		known.note(plan, outcome);
		return known.nothingForMs(plan, outcome, isForPaid);
	};
	return { clock, after };
}

test.each<[string, Outcome, boolean]>([
	['a result', response(200, { data: [] }), true],
	['an error of the gateway', response(400, { error: { message: 'no' } }), true],
	['an object with 500, which any server gives', response(500, { error: { message: 'x' } }), false],
	['a time-out', fault('timeout'), false],
	['a response that breaks off behind its head', { ...fault('reset'), httpCode: 200 }, false],
])('%s shows that the address is right: %#', async (_name, outcome, isProof) => {
	const { after } = await addresses();
	after(submit, outcome);
	expect(after(submit, refused) === undefined).toBe(isProof);
});

test('an address is proven for the whole gateway, or for the images of one host', async () => {
	const { clock, after } = await addresses();
	after(submit, response(200, { id: 't1' }));
	expect(after(poll, refused)).toBeUndefined();
	expect(after(planModelList(), refused)).toBe(0);
	expect(after(image, refused)).toBe(0);
	await clock.pass(2000);
	expect(after(planDownload('https://images.example/a/2.png?c'), refused)).toBe(2000);
	expect(after(planDownload('https://images.example:8443/1.png'), refused)).toBe(0);
	expect(addressOf(planDownload('no-address.png'))).toBe('no-address.png');
});

test.each<[string, RequestPlan, Outcome, boolean, number | undefined]>([
	['a refused status check', poll, refused, true, undefined],
	['a refused image', image, refused, true, undefined],
	['a text that has a tag later', image, page(200, 'not yet <br>'), true, undefined],
	['not a web page in place of an image', image, page(200, '\r\n\t <!doctype html>'), true, 0],
	['503, which is no sign of a wrong address', submit, response(503), false, undefined],
])('is waited for: %s', async (_name, plan, outcome, isForPaid, nothingForMs) => {
	const { after } = await addresses();
	expect(after(plan, outcome, isForPaid)).toBe(nothingForMs);
});
