/** What a Stop must not take along: the beginning of a response that may have been charged. */
import { PassThrough, type Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { planImages } from '../../../gateway/protocol/requestPlan.js';
import { accountOf } from '../../../gateway/protocol/account.js';
import { Requests } from '../../../gateway/wire/inFlight.js';
import { createSendOnce } from '../../../gateway/wire/sendOnce.js';

describe('what has arrived of a response', () => {
	const plan = planImages('generation', { model: 'm', prompt: 'p' });

	/** Sends a plan, to which a stream is the response. */
	function answeredBy(body: Readable, requests: Requests) {
		return createSendOnce({
			account: accountOf({ baseUrl: 'https://gateway.example', apiKey: 'sk-0123456789' }),
			limits: { timeoutMs: 60_000 },
			requests,
			transport: async () => await Promise.resolve({ httpCode: 200, headers: {}, body }),
		});
	}

	test('is known while it arrives, and is let go once it is whole: images can be in it', async () => {
		const requests = new Requests();
		const body = new PassThrough();
		const sent = answeredBy(body, requests)(plan);
		body.write('{"id":"task_7",');
		while (requests.arriving.get(plan)?.() !== '{"id":"task_7",') await turn();
		body.end('"data":[]}');
		expect(await sent).toMatchObject({ kind: 'response', json: { id: 'task_7' } });
		expect(requests.arriving.has(plan)).toBe(false);
	});

	test('is known after the request was ended as well', async () => {
		const requests = new Requests();
		const body = new PassThrough();
		const sent = answeredBy(body, requests)(plan);
		body.write('{"id":"task_7"');
		while (requests.arriving.get(plan)?.() !== '{"id":"task_7"') await turn();
		body.destroy(new Error('aborted'));
		expect(await sent).toMatchObject({ kind: 'fault', received: '{"id":"task_7"' });
		expect(requests.arriving.get(plan)?.()).toBe('{"id":"task_7"');
	});
});
