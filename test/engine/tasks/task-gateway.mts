/** Gateways that have tasks at one path, and items of tasks. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { opened } from '../opened.mjs';
import { hostFor, sendJson, serve, workflowOf, type NodeName } from '../workbench.mjs';

export const UNKNOWN = { error: { message: 'Invalid URL', type: 'invalid_request_error' } };
export const DONE = { status: 'completed', data: [{ url: 'http://h.example/x' }] };

/** A gateway that has all tasks below one path, and the paths at which it was asked. */
export async function gatewayAt(folder: string, state: object = DONE) {
	const server = await opened(
		serve((request, response) => {
			const isThere = request.url?.startsWith(`${folder}/`) === true;
			sendJson(response, isThere ? state : UNKNOWN, isThere ? 200 : 404);
		}),
	);
	const paths = () => server.requests.map(({ url }) => url);
	return { ...server, paths, wrong: () => paths().filter((path) => !path.startsWith(folder)) };
}

export async function run(
	baseUrl: string,
	type: NodeName,
	items: N8n.IDataObject[],
	parameters: Record<string, unknown> = {},
) {
	const host = await hostFor({ baseUrl });
	const own = type === 'imageWait' ? { maxWait: 60, download: false } : { download: false };
	const workflow = workflowOf(
		type,
		{ ...own, ...parameters },
		{ onError: 'continueRegularOutput' },
	);
	return await host.run(workflow, { input: items.map((json) => ({ json })) });
}

export const tenTasks = (taskType: string) =>
	Array.from({ length: 10 }, (_, index) => ({ taskId: `t${index}`, taskType }));
