import { addressOf, KnownAddresses } from '../../../gateway/client/knownAddresses.js';
import type { Outcome } from '../../../gateway/protocol/outcome.js';
import { planModelList } from '../../../gateway/protocol/models.js';
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
const listing = planModelList();
const image = planDownload('https://images.example/1.png');
const refused = fault('refused');
const HTML = page(200, '<html>');

/** The addresses of a run that began a while ago. */
async function addresses() {
	const clock = new FakeClock();
	await clock.pass(1_000_000);
	const known = new KnownAddresses(clock.now);
	/** For how long there has been nothing after this outcome of a request that isn't paid for. */
	const after = (plan: RequestPlan, outcome: Outcome) => {
		known.note(plan, outcome);
		return known.nothingForMs(plan, outcome, false);
	};
	return { clock, known, after };
}

test('the time without a response is counted from the first failed request', async () => {
	const { clock, known, after } = await addresses();
	expect(known.nothingForMs(submit, refused, false)).toBe(0);
	const times: Array<number | undefined> = [];
	for (const outcome of [refused, fault('notFound'), HTML, refused]) {
		times.push(after(submit, outcome));
		await clock.pass(1500);
	}
	expect(times).toEqual([0, 1500, 3000, 4500]);
});

test.each<[string, Outcome, boolean]>([
	['a result', response(200, { data: [] }), true],
	['an error of the gateway', response(400, { error: { message: 'no' } }), true],
	['an error with the highest status that only a client causes', response(499, {}), true],
	['an object with 500, which any server gives', response(500, { error: { message: 'x' } }), false],
	['an object with 502', response(502, {}), false],
	['a list', response(200, []), false],
	['a web page', page(404, '<html>'), false],
	['a time-out', fault('timeout'), false],
	['a response that breaks off behind its head', { ...fault('reset'), httpCode: 200 }, false],
])('%s shows that the address is right: %#', async (_name, outcome, isProof) => {
	const { after } = await addresses();
	after(submit, outcome);
	expect(after(submit, refused) === undefined).toBe(isProof);
});

test('an address is proven for the whole gateway, and for nothing else', async () => {
	const { after } = await addresses();
	after(submit, response(200, { id: 't1' }));
	expect(after(poll, refused)).toBeUndefined();
	expect(after(listing, refused)).toBe(0);
	expect(after(image, refused)).toBe(0);
});

test('images of one host have one address, those of another host have another', async () => {
	const { clock, after } = await addresses();
	expect(after(image, refused)).toBe(0);
	await clock.pass(2000);
	expect(after(planDownload('https://images.example/2.png'), refused)).toBe(2000);
	expect(after(planDownload('https://images.example:8443/1.png'), refused)).toBe(0);
	expect(addressOf(planDownload('https://images.example/a/b.png?c'))).toBe(
		'https://images.example',
	);
});

test('an image address that is none stands for itself', () => {
	const addressesOfTwo = ['a.png', 'b.png'].map((url) => addressOf(planDownload(url)));
	expect(addressesOfTwo).toEqual(['a.png', 'b.png']);
});

describe('a request about something that was paid for', () => {
	test.each<[string, RequestPlan, Outcome, number | undefined]>([
		['a refused status check is waited for', poll, refused, undefined],
		['a web page in place of a status is waited for', poll, HTML, undefined],
		['a refused image is waited for', image, refused, undefined],
		['a text is no web page', image, page(200, 'not yet < soon'), undefined],
		['nor is a text that has a tag later', image, page(200, 'wait<br>'), undefined],
		['a web page in place of an image stays one', image, HTML, 0],
		['also with space before it', image, page(200, '\r\n\t <!doctype html>'), 0],
	])('%s', async (_name, plan, outcome, nothingForMs) => {
		const { known } = await addresses();
		known.note(plan, outcome);
		expect(known.nothingForMs(plan, outcome, true)).toBe(nothingForMs);
	});
});

test('what is no sign of a wrong address is waited for', async () => {
	const { after } = await addresses();
	for (const outcome of [response(503), fault('timeout'), response(429)]) {
		expect(after(submit, outcome)).toBeUndefined();
	}
});
