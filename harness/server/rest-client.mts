/** What the editor does with an n8n server: credentials, workflows, webhooks and executions. */
import { createRequire } from 'node:module';

import type { ServerInstall } from '../install/install.mjs';
import { until } from '../wait-until.mjs';
import { parseJson, RestSession, type Json } from './rest-session.mjs';

export interface WebhookOptions {
	/** Default POST if there is a body, else GET. */
	method?: string;
	headers?: Record<string, string>;
	/** `webhook` (active workflow, default) or `webhook-test`. */
	kind?: 'webhook' | 'webhook-test';
	/** Milliseconds for the response. Default 300 000. */
	timeoutMs?: number;
}

export interface WebhookResponse {
	status: number;
	headers: Headers;
	/** Parsed if the response is JSON, else text. */
	body: Json;
	/** The bytes as they came. */
	raw: Buffer;
}

export interface Execution {
	id: string;
	status: string;
	finished: boolean;
	mode: string;
	workflowId: string;
	startedAt: string;
	stoppedAt: string | null;
	waitTill: string | null;
	/** n8n's run data, un-flatted: `data.resultData.runData[nodeName][run]`. */
	data: Json;
	[key: string]: Json;
}

/** Statuses of an execution that will not change any more. */
const SETTLED = new Set(['success', 'error', 'crashed', 'canceled']);
/** Speaks to one server. */
export class RestClient extends RestSession {
	/** IDs of active workflows by name. */
	private readonly active = new Map<string, string>();

	constructor(
		url: string,
		readonly install: ServerInstall,
	) {
		super(url);
	}

	/**
	 * Stores a credential.
	 * @param credential its type (such as `mediaGatewayApi`), data, and name if it matters
	 * @returns the stored credential; `{ [type]: { id, name } }` of it goes into a node
	 */
	async createCredential(credential: {
		type: string;
		data: Record<string, unknown>;
		name?: string;
	}): Promise<{ id: string; name: string; type: string }> {
		return await this.rest('POST', '/credentials', {
			name: credential.name ?? credential.type,
			type: credential.type,
			data: credential.data,
		});
	}

	/**
	 * Stores a credential for a gateway.
	 * @returns it as a node names it
	 */
	async storeAccount(
		baseUrl: string,
		apiKey: string | undefined,
	): Promise<{ mediaGatewayApi: { id: string; name: string } }> {
		const { id, name } = await this.createCredential({
			type: 'mediaGatewayApi',
			name: 'Media Gateway account',
			data: { baseUrl, apiKey },
		});
		return { mediaGatewayApi: { id, name } };
	}

	/**
	 * Runs the test of a stored credential, as the editor's button does.
	 * @param credential what createCredential gave back, with the data
	 * @returns `{ status: 'OK' | 'Error', message }`
	 */
	async testCredential(credential: {
		id: string;
		name: string;
		type: string;
		data: Record<string, unknown>;
	}): Promise<{ status: 'OK' | 'Error'; message: string }> {
		return await this.rest('POST', '/credentials/test', { credentials: credential });
	}

	/**
	 * Stores a workflow.
	 * @param workflow exported JSON: nodes and connections are enough
	 * @returns the stored workflow with id and versionId
	 */
	async createWorkflow(workflow: {
		name?: string;
		nodes: Json[];
		connections: Json;
		settings?: Json;
		[key: string]: Json;
	}): Promise<{ id: string; versionId: string; name: string; [key: string]: Json }> {
		const { id: _id, active: _active, versionId: _versionId, ...rest } = workflow;
		return await this.rest('POST', '/workflows', {
			...rest,
			name: workflow.name ?? 'Test',
			settings: workflow.settings ?? {},
			active: false,
		});
	}

	/**
	 * Activates (n8n 2: publishes) a workflow in its present version, in place of one of the same name.
	 * @param id the workflow's id
	 */
	async activate(id: string): Promise<void> {
		const { name, versionId } = await this.rest('GET', `/workflows/${id}`);
		// A test that is tried again has the same address as before.
		const earlier = this.active.get(name);
		if (earlier !== undefined && earlier !== id) await this.deactivate(earlier);
		this.active.set(name, id);
		if (this.install.version === '1') {
			await this.rest('PATCH', `/workflows/${id}`, { active: true, versionId });
		} else {
			await this.rest('POST', `/workflows/${id}/activate`, { versionId });
		}
	}

	/**
	 * Takes a workflow out of service.
	 * @param id the workflow's id
	 */
	async deactivate(id: string): Promise<void> {
		for (const [name, one] of this.active) if (one === id) this.active.delete(name);
		if (this.install.version === '1') {
			const { versionId } = await this.rest('GET', `/workflows/${id}`);
			await this.rest('PATCH', `/workflows/${id}`, { active: false, versionId });
		} else {
			await this.rest('POST', `/workflows/${id}/deactivate`, {});
		}
	}

	/**
	 * Calls a webhook of an active workflow.
	 * @param webhookPath path as in the Webhook node
	 * @param body sent as JSON; left out: a GET
	 * @returns status, headers and body, whatever the status is
	 */
	async runWebhook(
		webhookPath: string,
		body?: unknown,
		options: WebhookOptions = {},
	): Promise<WebhookResponse> {
		const url = `${this.url}/${options.kind ?? 'webhook'}/${webhookPath.replace(/^\//, '')}`;
		const init = {
			method: options.method ?? (body === undefined ? 'GET' : 'POST'),
			headers: {
				...(body === undefined ? {} : { 'content-type': 'application/json' }),
				...options.headers,
			},
			body: body === undefined ? undefined : JSON.stringify(body),
		};
		// Activation takes a moment.
		return await until(`a webhook at ${webhookPath}`, 60, async () => {
			const signal = AbortSignal.timeout(options.timeoutMs ?? 300_000);
			const response = await fetch(url, { ...init, signal });
			const { status, headers } = response;
			const raw = Buffer.from(await response.arrayBuffer());
			const text = raw.toString('utf8');
			if (status === 404 && text.includes('not registered')) return undefined;
			const isJson = headers.get('content-type')?.includes('json') ?? false;
			return { status, headers, body: isJson ? parseJson(text) : text, raw };
		});
	}

	/**
	 * Runs a stored workflow as the editor's button does.
	 * @param id the workflow's id
	 * @param triggerName the trigger to start from. Default: the first Manual Trigger
	 * @returns the execution's id
	 */
	async runManually(id: string, triggerName?: string): Promise<string> {
		const workflowData = await this.rest('GET', `/workflows/${id}`);
		const name =
			triggerName ??
			workflowData.nodes.find((node: Json) => node.type === 'n8n-nodes-base.manualTrigger')?.name;
		if (!name) throw new Error(`Workflow ${id} has no Manual Trigger: name a trigger`);
		const { executionId } = await this.rest(
			'POST',
			`/workflows/${id}/run`,
			{ workflowData, triggerToStartFrom: { name } },
			{ headers: { 'push-ref': this.browserId } },
		);
		if (!executionId) throw new Error(`The trigger "${name}" waits for an event of its own`);
		return String(executionId);
	}

	/**
	 * The stored executions, newest first.
	 * @param filter such as `{ workflowId, status: ['error'] }`
	 * @returns up to 100 of them, without their data
	 */
	async executions(filter: Record<string, unknown> = {}): Promise<Execution[]> {
		const { results } = await this.rest('GET', '/executions', undefined, {
			query: { filter, limit: '100' },
		});
		return results;
	}

	/**
	 * One stored execution.
	 * @param id its id
	 * @returns the execution with its data as an object (n8n sends it flatted)
	 */
	async execution(id: string): Promise<Execution> {
		const execution = await this.rest('GET', `/executions/${id}`);
		if (typeof execution.data === 'string') {
			// The server's own copy: the format is the server's.
			const { parse } = createRequire(this.install.bin)('flatted') as typeof JSON;
			execution.data = parse(execution.data);
		}
		return execution;
	}

	/**
	 * Waits until an execution is over.
	 * @param id its id
	 * @param withinMs milliseconds; throws when they have passed. Default 120 000
	 * @returns the execution with its data
	 */
	async settled(id: string, withinMs = 120_000): Promise<Execution> {
		return await this.until(id, (status) => SETTLED.has(status), withinMs);
	}

	/**
	 * Waits until an execution has one of the given statuses.
	 * @param id its id
	 * @param is the test of its status, such as 'waiting'
	 * @param withinMs milliseconds; throws when they have passed. Default 120 000
	 * @returns the execution with its data
	 */
	async until(id: string, is: (status: string) => boolean, withinMs = 120_000): Promise<Execution> {
		let status = '';
		const look = async () => {
			const execution = await this.execution(id);
			({ status } = execution);
			return is(status) && execution;
		};
		const what = () => `execution ${id} is still ${status}, not ${is.toString()}`;
		return await until(what, withinMs / 1000, look, 200);
	}

	/**
	 * One stored binary file, as the editor fetches it.
	 * @param binary an entry of an item's `binary`, stored in the execution or by id
	 * @returns its bytes
	 */
	async binary(binary: { id?: string; data: string }): Promise<Buffer> {
		if (!binary.id) return Buffer.from(binary.data, 'base64');
		const url = `${this.url}/rest/binary-data?action=download&id=${encodeURIComponent(binary.id)}`;
		const response = await fetch(url, {
			headers: { 'browser-id': this.browserId, cookie: this.cookie },
		});
		if (!response.ok) throw new Error(`Binary ${binary.id}: ${response.status}`);
		return Buffer.from(await response.arrayBuffer());
	}
}
