import type {
	IDataObject,
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import {
	messageHints,
	planMessage,
	readMessage,
	refusalAdvice,
	type MessageRequest,
	type Turn,
} from '../../gateway/message';
import { withoutUndefined } from '../../gateway/plan';
import { GatewayError, withDetails } from '../../gateway/problem';
import { testMediaGateway } from '../shared/credentialTest';
import { addHints } from '../shared/hints';
import { runItems } from '../shared/items';
import { openLedger } from '../shared/ledger';
import { readLimits } from '../shared/options';
import { readParameter } from '../shared/parameters';
import { payOnce } from '../shared/pay';
import { openRun } from '../shared/run';
import { messageFields } from './fields';
import { readMessageRequest } from './request';

export class Message implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Message',
		name: 'message',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ $parameter["model"] }}',
		description: 'Send a message to a model on a media gateway, with or without thinking',
		defaults: { name: 'Message a Model' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: messageFields,
	};

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const run = await openRun(this, readLimits(this));
		try {
			const ledger = openLedger(this);
			const hints = new Set<string>();
			const items = await runItems(run, this.getInputData().length, {
				ledger,
				prepare: (itemIndex) => {
					const request = readMessageRequest(this, itemIndex);
					messageHints(request).forEach((hint) => hints.add(hint));
					const plan = planMessage(request);
					const simplify = readParameter(this, 'simplify', itemIndex, true) === true;
					return async () => {
						const { answer } = await payOnce(run, ledger, itemIndex, plan, (body) =>
							readMessage(body) === undefined ? undefined : { answer: body },
						).catch(async (error: unknown) => await Promise.reject(withAdvice(error, request)));
						const json = simplify ? simplified(answer ?? {}, request.messages, run.isTool) : answer;
						return [{ json: json as IDataObject, pairedItem: { item: itemIndex } }];
					};
				},
			});
			addHints(this, hints);
			return [items.flat()];
		} finally {
			run.end();
		}
	}
}

/** A refusal that also says what in the request may have led to it. */
function withAdvice(error: unknown, request: MessageRequest): unknown {
	if (!(error instanceof GatewayError) || error.problem.httpCode !== 400) return error;
	const { message, description } = error.problem;
	const advice = [...refusalAdvice(request, message), description];
	return withDetails(error, { description: advice.join(' ') });
}

/** The answer as most workflows want it, with the conversation so far for the next turn. */
function simplified(
	body: Record<string, unknown>,
	turns: Turn[],
	forTool: boolean,
): Record<string, unknown> {
	const answer = readMessage(body);
	if (answer === undefined) return body;
	const { content, ...facts } = answer;
	// An agent keeps the conversation itself, and pays for every word that it reads.
	if (forTool) return withoutUndefined({ ...facts, thinking: facts.thinking || undefined });
	return withoutUndefined({ ...facts, messages: [...turns, { role: 'assistant', content }] });
}
