/** An image as a stream, whose line stays open where a silent one would be cut. */
import { sharedBench } from '../opened.mjs';
import { NODE } from '../workbench.mjs';

const bench = sharedBench({ syncMs: 120, keepAliveMs: 20 });
const run = async (options: object) =>
	await bench.run('imageGeneration', { prompt: 'a fox', options }, [{}], {
		onError: 'continueRegularOutput',
	});

test('a line that is cut when silent: unknown without the option, an image with it', async () => {
	bench.gateway.setFaults([{ call: 'sync', kind: 'cutSilent', ms: 60 }]);
	const [silent] = (await run({})).json(NODE);
	expect(silent?.details).toMatchObject({ charged: 'maybe', outcome: 'unknown' });
	const [streamed] = (await run({ streamResponse: true })).json(NODE);
	expect(streamed).toMatchObject({ url: expect.stringMatching(/^http/) });
	expect(streamed?.parameters).toBeUndefined();
	const { body } = bench.gateway.requests.filter(({ call }) => call === 'sync')[1]!;
	expect(body).toMatchObject({ stream: true, partial_images: 0 });
	expect(bench.gateway.paid).toBe(2);
});
