import './fast-time.mjs';
import type { ServerResponse } from 'node:http';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { everythingIn, hostFor, NODE, serve, workflowOf, type NodeName } from './workbench.mjs';

const KEY = 'sk-embedded-gateway-one';

/** Runs one node against a server of one's own, and gives the failed item and the requests. */
async function runAgainst(
	answer: Parameters<typeof serve>[0],
	type: NodeName,
	parameters: Record<string, unknown>,
	items: N8n.IDataObject[] = [{}],
) {
	const server = await serve(answer);
	try {
		const host = await hostFor({ baseUrl: server.url });
		const settings = { onError: 'continueErrorOutput' as const };
		const result = await host.run(workflowOf(type, parameters, settings), {
			input: items.map((json) => ({ json })),
		});
		return { result, failed: result.json(NODE, 1), items: result.json(NODE, 0), server };
	} finally {
		await server.close();
	}
}

describe('an answer of which only the beginning arrives', () => {
	const begin = '{"created":1,"id":"task_half_1","status":"queued","key":"' + KEY + '",';
	const send = (response: ServerResponse, then: (response: ServerResponse) => void): void => {
		response.writeHead(200, { 'content-type': 'application/json', 'content-length': '90000' });
		response.write(begin, () => setTimeout(() => then(response), 30));
	};
	const image = { prompt: 'x', options: { checkLimits: false, timeout: 1 } };

	test.each<[string, (response: ServerResponse) => void]>([
		['is cut', (response) => void response.destroy()],
		['is never ended', () => undefined],
	])('%s: what had arrived stays in the error, without the key', async (_, then) => {
		for (const [type, parameters] of [
			['imageGeneration', { ...image, mode: 'submit' }],
			['imageGeneration', image],
			['message', { model: 'm', prompt: 'x', options: { timeout: 1 } }],
		] as const) {
			const { failed, server } = await runAgainst(
				(_request, response) => send(response, then),
				type,
				parameters,
			);
			expect(server.requests).toHaveLength(1);
			expect(failed[0]?.error).toMatch(/^The outcome is unknown/);
			expect(failed[0]?.details).toMatchObject({
				outcome: 'unknown',
				httpCode: 200,
				response: expect.stringContaining('"id":"task_half_1"'),
			});
			expect(everythingIn(failed)).not.toContain(KEY);
		}
	});

	test('is complete but no JSON: the first 2,048 characters of it', async () => {
		const page = `<html>task_page_1 ${'long '.repeat(2000)}`;
		const { failed } = await runAgainst(
			(_, response) => void response.writeHead(200).end(page),
			'imageGeneration',
			image,
		);
		const { response } = failed[0]?.details as { response: string };
		expect(response).toBe(page.slice(0, 2048));
	});

	test('holds an image: that is left out', async () => {
		const body = `{"data":[{"b64_json":"${'QUJD'.repeat(5000)}"}],"id":"task_b64`;
		const { failed } = await runAgainst(
			(_, response) => void response.writeHead(200).end(body),
			'imageGeneration',
			image,
		);
		const { response } = failed[0]?.details as { response: string };
		expect(response.length).toBeLessThan(300);
	});
});
