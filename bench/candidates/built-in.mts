/**
 * (a) What people wire in n8n today: HTTP Request, Wait and If in a loop. The nodes are those of an
 * installed n8n server, run by the very engine that runs this package's nodes: n8n-nodes-base cannot
 * be a development dependency.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { BuiltInNode } from '../../harness/engine/built-in-nodes.mjs';
import { createHost, type WorkflowJson } from '../../harness/engine/host.mjs';
import { builtInFolder } from '../server-tree.mjs';
import { MODEL, type Candidate, type Prepare, type Work } from '../work.mjs';
import { chain, inputFor, outcomeOf, START } from './package-nodes.mjs';

const require = createRequire(import.meta.url);
const { NodeHelpers } = require('n8n-workflow') as typeof N8n;

/**
 * The two packages that have to be the engine's own: nodes and engine recognise errors and results
 * by their classes. The rest comes from the server's tree.
 */
function shareEngine(folder: string): void {
	const nodeModule = require('node:module') as {
		_resolveFilename: (request: string, ...rest: unknown[]) => string;
	};
	const resolve = nodeModule._resolveFilename;
	nodeModule._resolveFilename = function (request, parent, ...rest) {
		const from = (parent as { filename?: string } | undefined)?.filename ?? '';
		if (/^n8n-(workflow|core)$/.test(request) && from.startsWith(folder)) {
			return require.resolve(request);
		}
		return resolve.call(this, request, parent, ...rest);
	};
}

function load(folder: string, file: string, version: number): BuiltInNode {
	const path = join(folder, 'dist', 'nodes', file);
	const [Node] = Object.values(require(path) as Record<string, new () => N8n.INodeType>);
	return NodeHelpers.getVersionedNodeType(new Node!(), version) as BuiltInNode;
}

function loadCredential(folder: string): N8n.ICredentialType {
	const path = join(folder, 'dist', 'credentials', 'HttpHeaderAuth.credentials.js');
	const [Type] = Object.values(require(path) as Record<string, new () => N8n.ICredentialType>);
	return new Type!();
}

/** Versions that n8n 2.41 gives to a node that is newly placed. */
const VERSIONS = { httpRequest: 4.5, wait: 1.1, if: 2.3 };

/** Where people keep the key: n8n reads it for each request, as it does for those of the package. */
const CREDENTIAL = 'httpHeaderAuth';

function loop(base: string, pauseS: number): WorkflowJson {
	const http = (name: string, parameters: object) => ({
		name,
		type: 'n8n-nodes-base.httpRequest',
		typeVersion: VERSIONS.httpRequest,
		credentials: { [CREDENTIAL]: { id: '1', name: 'Key' } },
		parameters: {
			authentication: 'genericCredentialType',
			genericAuthType: CREDENTIAL,
			options: {},
			...parameters,
		} as N8n.INodeParameters,
	});
	const to = (node: string) => [{ node, type: 'main' as const, index: 0 }];
	return {
		nodes: [
			START,
			http('Submit', {
				method: 'POST',
				url: `${base}/v1/images/generations?async=true`,
				...body,
			}),
			{
				name: 'Wait',
				type: 'n8n-nodes-base.wait',
				typeVersion: VERSIONS.wait,
				parameters: { amount: pauseS, unit: 'seconds' },
			},
			http('Ask', { url: `=${base}/v1/images/generations/{{ $json.id }}` }),
			{
				name: 'Finished?',
				type: 'n8n-nodes-base.if',
				typeVersion: VERSIONS.if,
				parameters: {
					conditions: {
						options: { caseSensitive: true, leftValue: '', typeValidation: 'strict', version: 2 },
						combinator: 'and',
						conditions: [
							{
								id: 'one',
								leftValue: '={{ $json.status }}',
								rightValue: 'completed',
								operator: { type: 'string', operation: 'equals' },
							},
						],
					},
					options: {},
				} as N8n.INodeParameters,
			},
			{ name: 'Done', type: 'n8n-nodes-base.noOp' },
		],
		connections: {
			Start: { main: [to('Submit')] },
			Submit: { main: [to('Wait')] },
			Wait: { main: [to('Ask')] },
			Ask: { main: [to('Finished?')] },
			'Finished?': { main: [to('Done'), to('Wait')] },
		},
	};
}

const body = {
	sendBody: true,
	specifyBody: 'json',
	jsonBody: `={{ JSON.stringify({ model: '${MODEL}', prompt: $json.prompt }) }}`,
};

function workflowFor(work: Work, base: string): [WorkflowJson, last: string] {
	switch (work.kind) {
		case 'tasks':
			return [loop(base, work.pauseS), 'Done'];
		case 'generate': {
			const { nodes } = loop(base, 1);
			// It sends all at once: so many at a time is not to be had.
			const parameters = { ...nodes[1]!.parameters, url: `${base}/v1/images/generations` };
			return [chain(START, { ...nodes[1]!, parameters }), nodes[1]!.name];
		}
		default:
			throw new Error(`Not measured of the built-in nodes: ${work.kind}`);
	}
}

export async function builtIn({ url, key }: Prepare): Promise<Candidate> {
	const folder = builtInFolder();
	if (folder === undefined || !existsSync(folder)) throw new Error('n8n-nodes-base is not there');
	shareEngine(dirname(folder));
	const host = await createHost({
		credentials: { [CREDENTIAL]: { name: 'Authorization', value: `Bearer ${key}` } },
		extraCredentialTypes: { [CREDENTIAL]: loadCredential(folder) },
		extraNodeTypes: {
			'n8n-nodes-base.httpRequest': load(
				folder,
				'HttpRequest/HttpRequest.node.js',
				VERSIONS.httpRequest,
			),
			'n8n-nodes-base.wait': load(folder, 'Wait/Wait.node.js', VERSIONS.wait),
			'n8n-nodes-base.if': load(folder, 'If/If.node.js', VERSIONS.if),
		},
	});
	return {
		run: async (work) => {
			const [workflow, last] = workflowFor(work, url);
			const result = await host.run(workflow, { input: inputFor(work), mode: 'trigger' });
			return outcomeOf(result, last);
		},
	};
}
