/** What a Stop must not take along: the beginning of a response that may have been charged. */
import { readCredential } from '../../../gateway/protocol/credential.js';
import { PassThrough, type Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { planGeneration } from '../../../gateway/protocol/requestPlan.js';
import { createSendOnce, type TransportOptions } from '../../../nodes/shared/transport/http.js';
import { Requests } from '../../../nodes/shared/transport/inFlight.js';

describe('what has arrived of a response', () => {
	const plan = planGeneration({ model: 'm', prompt: 'p' });
	const keyed = (text: string) => text.replaceAll('sk-1', '***');

	/** Sends a plan, to which a stream is the response. */
	function answeredBy(body: Readable, requests: Requests) {
		const response = { statusCode: 200, headers: {}, body };
		return createSendOnce({
			context: {
				helpers: { httpRequestWithAuthentication: async () => await Promise.resolve(response) },
			},
			address: {
				...readCredential({ baseUrl: 'https://gateway.example' }),
				withoutKey: keyed,
				withoutKeyInContent: keyed,
			},
			limits: { concurrency: 1, timeoutMs: 60_000 },
			requests,
		} as unknown as TransportOptions);
	}

	test('is known while it arrives, and is let go once it is whole: images can be in it', async () => {
		const requests = new Requests();
		const body = new PassThrough();
		const sent = answeredBy(body, requests)(plan);
		body.write('{"id":"task_7","key":"sk-1",');
		while (requests.arriving.get(plan)?.() !== '{"id":"task_7","key":"***",') await turn();
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
