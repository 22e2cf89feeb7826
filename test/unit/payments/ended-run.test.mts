/** What a payment says of its charge when its run ends before it. */
import { openGateway } from '../../../gateway/index.js';
import { RunEnded } from '../../../gateway/wire/inFlight.js';

/** Pays through a transport that ends the run when it gets the request of this number. */
async function chargeOf(stopAt: number, statuses: number[]): Promise<unknown> {
	const stop = new AbortController();
	let sent = 0;
	const settings = { baseUrl: 'https://gateway.example', apiKey: 'sk-0123456789' };
	const gateway = openGateway(settings, {
		signal: stop.signal,
		transport: async (_, signal) => {
			sent += 1;
			if (sent === stopAt) {
				stop.abort();
				signal.throwIfAborted();
			}
			const [httpCode = 200] = statuses.slice(sent - 1);
			return await Promise.resolve({ httpCode, headers: {}, body: '{}' });
		},
		sleep: async () => {
			if (stopAt === 0) stop.abort();
			await Promise.resolve();
		},
	});
	const request = { model: 'aurora-image-1', prompt: 'A fox' };
	const ended = gateway.generate(request, { key: undefined }).catch((error: unknown) => error);
	return await ended.finally(() => gateway.end());
}

test.each([
	['its request is on its way', 1, [], 'maybe'],
	['another request than the refused one is on its way', 2, [429], 'maybe'],
	['it waits after a refusal', 0, [429], 'no'],
] as const)('a Stop while %s', async (_, stopAt, statuses, charged) => {
	const end = await chargeOf(stopAt, [...statuses]);
	expect(end).toBeInstanceOf(RunEnded);
	expect(end).toMatchObject({ charged });
});
