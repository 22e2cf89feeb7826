/** An image whose download is refused for the rate holds up nothing else. */
import '../fast-time.mjs';
import { opened } from '../opened.mjs';
import { hostFor, NODE, sendJson, serve, TINY_PNG, workflowOf } from '../workbench.mjs';
import { until } from '../../until.mjs';

/** A gateway with tasks `slow`, which is done after some polls, and `quick`, and a host that refuses once. */
async function openBoth(sameHost: boolean) {
	const events: string[] = [];
	const give = (response: Parameters<typeof sendJson>[0]): void => {
		const isFirst = !events.includes('image');
		events.push('image');
		response.writeHead(isFirst ? 429 : 200, isFirst ? { 'retry-after': '80' } : {});
		response.end(isFirst ? '' : TINY_PNG);
	};
	const images = await opened(serve((_, response) => give(response)));
	const gateway = await opened(
		serve((request, response, url) => {
			if (request.url?.endsWith('.png')) return give(response);
			const isSlow = request.url?.includes('slow') === true;
			if (isSlow) events.push('poll');
			const polls = events.filter((event) => event === 'poll').length;
			if (isSlow && polls < 8) return sendJson(response, { id: 'slow', status: 'queued' });
			const data = [{ url: `${sameHost ? url : images.url}/${isSlow ? 'slow' : 'quick'}.png` }];
			return sendJson(response, { id: 'one', status: 'completed', data });
		}),
	);
	return { gateway, events };
}

test.each([false, true])(
	'polls go on while an image waits, also one of the gateway’s own: %s',
	async (sameHost) => {
		const { gateway, events } = await openBoth(sameHost);
		const host = await hostFor({ baseUrl: gateway.url });
		const result = await host.run(workflowOf('imageWait', { taskType: 'generation' }), {
			input: ['quick', 'slow'].map((taskId) => ({ json: { taskId } })),
		});
		expect(result.error).toBeUndefined();
		expect(result.output(NODE).map(({ binary }) => binary?.data?.mimeType)).toEqual([
			'image/png',
			'image/png',
		]);
		const [first, second] = events.flatMap((event, place) => (event === 'image' ? [place] : []));
		const meanwhile = events.slice(first, second).filter((event) => event === 'poll').length;
		expect(meanwhile).toBeGreaterThan(1);
	},
);

test('what it refused holds back no later run of the account', async () => {
	const { gateway, events } = await openBoth(false);
	const host = await hostFor({ baseUrl: gateway.url });
	const stop = new AbortController();
	const wait = async (signal?: AbortSignal) =>
		await host.run(workflowOf('imageWait', { taskType: 'generation', maxWait: 10 }), {
			input: [{ json: { taskId: 'quick' } }],
			signal,
		});
	const running = wait(stop.signal);
	await until(() => events.includes('image'));
	// The refusal is on its way.
	await new Promise((wake) => setTimeout(wake, 50));
	stop.abort();
	expect((await running).status).toBe('canceled');
	expect((await wait()).error).toBeUndefined();
});
