import { createHash } from 'node:crypto';
import { seen } from './attachments.mjs';
import { textOf, thoughtful, type Block, type Turn } from './conversation.mjs';
import type { Effort, Reasoning } from './reasoning.mjs';
import { sign } from './signatures.mjs';
import {
	lastAddress,
	nextCalls,
	readToolRequest,
	type ToolRequest,
	type Tool,
} from './tool-calls.mjs';

export interface Reply {
	id: string;
	type: 'message';
	role: 'assistant';
	model: string;
	content: Block[];
	stop_reason: 'end_turn' | 'max_tokens' | 'tool_use';
	stop_sequence: null;
	usage: {
		input_tokens: number;
		output_tokens: number;
		output_tokens_details?: { thinking_tokens: number };
	};
}

const thinkingTokens: Record<Effort, number> = {
	low: 24,
	medium: 64,
	high: 160,
	xhigh: 320,
	max: 640,
};
const charactersPerToken = 4;

/** The reply to a conversation: always the same for the same request. */
export function compose(
	turns: readonly Turn[],
	body: Record<string, unknown>,
	reasoning: Reasoning,
	maxTokens: number,
): Reply {
	const request = JSON.stringify([
		body.model,
		body.system,
		body.messages,
		body.thinking,
		body.tools,
	]);
	const seed = createHash('sha256').update(request).digest('hex');
	const toolRequest = readToolRequest(turns);
	const tools = Array.isArray(body.tools) ? (body.tools as Tool[]) : [];
	const calls = nextCalls(toolRequest, tools, body.tool_choice);
	const thinks = reasoning.display !== undefined;
	// Thinking counts against max_tokens, and an answer has to be left over.
	const budget = Math.min(thinkingTokens[reasoning.effort], reasoning.budgetTokens, maxTokens >> 1);
	const thoughtTokens = thinks ? budget : 0;

	const answer =
		calls.length > 0 ? '' : answerText(turns, toolRequest, reasoning.effort, body.system);
	const room = (maxTokens - thoughtTokens) * charactersPerToken;
	const content: Block[] = calls.map(({ tool, input }, index) => ({
		type: 'tool_use',
		id: `${thinks ? thoughtful : 'toolu_n'}${seed.slice(index, index + 22)}`,
		name: tool.name,
		input,
	}));
	// As some gateways write before a tool call.
	if (calls.length > 0 && /\[blank\]/i.test(toolRequest.text))
		content.unshift({ type: 'text', text: '' });
	if (answer !== '') content.push({ type: 'text', text: answer.slice(0, room) });
	if (thinks) {
		const shown =
			reasoning.display === 'summarized' ? thought(toolRequest, calls.length, budget) : '';
		content.unshift({ type: 'thinking', thinking: shown, signature: sign(shown, seed) });
	}
	const spoken = calls.length > 0 ? tokens(JSON.stringify(content)) : tokens(answer.slice(0, room));
	return {
		id: `msg_${seed.slice(0, 24)}`,
		type: 'message',
		role: 'assistant',
		model: reasoning.model,
		content,
		stop_reason: calls.length > 0 ? 'tool_use' : answer.length > room ? 'max_tokens' : 'end_turn',
		stop_sequence: null,
		usage: {
			input_tokens: tokens(request),
			output_tokens: spoken + thoughtTokens,
			...(thinks ? { output_tokens_details: { thinking_tokens: thoughtTokens } } : {}),
		},
	};
}

function tokens(text: string): number {
	return Math.ceil(text.length / charactersPerToken);
}

function thought(toolRequest: ToolRequest, calls: number, budget: number): string {
	const steps = [
		`The user writes: "${excerpt(toolRequest.text)}".`,
		toolRequest.results.length > 0
			? `The tools have answered ${toolRequest.results.length} time(s).`
			: '',
		calls > 0 ? `I need ${calls} tool call(s) next.` : 'I can answer this directly.',
		'I check the wording, then the numbers, then whether anything is missing.',
		'Nothing contradicts the first impression, so I keep the answer short and to the point.',
	];
	return steps
		.filter(Boolean)
		.join(' ')
		.slice(0, budget * charactersPerToken);
}

function answerText(
	turns: readonly Turn[],
	toolRequest: ToolRequest,
	effort: Effort,
	system: unknown,
): string {
	const { results } = toolRequest;
	const [, wanted] = /\[answer +(.+?)\](?:\s|$)/is.exec(toolRequest.text) ?? [];
	if (wanted !== undefined) return wanted;
	const failed = results.find((result) => result.failed);
	if (failed) return `The tool could not do it: ${excerpt(failed.text)}`;
	if (results.length > 0) {
		const address = lastAddress(toolRequest);
		// As a model does that was told to show its images.
		const shown = JSON.stringify(system ?? '').includes('![')
			? `\n\n![the image](${address})`
			: address;
		const found = address
			? `Here it is: ${shown}`
			: `The answer is: ${excerpt(results.at(-1)!.text)}`;
		return `Done after ${results.length} tool call(s). ${found}`;
	}
	const asked = turns.filter(({ role }) => role === 'user');
	const sentences = [
		sum(toolRequest.text) ?? `You asked: "${excerpt(toolRequest.text)}".`,
		`This is turn ${asked.length} of our conversation.`,
	];
	if (asked.length > 1) sentences.push(`It began with: "${excerpt(textOf(asked[0]!))}".`);
	sentences.push(...seen(asked.at(-1)?.content ?? []));
	if (system !== undefined) sentences.push('I keep to the instructions I was given.');
	if (effort !== 'low') sentences.push('Ask on if you would like to know more.');
	return sentences.join(' ');
}

/** The one thing it really knows: `17 * 3`. */
function sum(text: string): string | undefined {
	const [, left, sign, right] = /(\d+(?:\.\d+)?)\s*([-+*/×])\s*(\d+(?:\.\d+)?)/.exec(text) ?? [];
	if (left === undefined || right === undefined) return undefined;
	const [a, b] = [Number(left), Number(right)];
	const value = sign === '+' ? a + b : sign === '-' ? a - b : sign === '/' ? a / b : a * b;
	return `${left} ${sign} ${right} = ${Number(value.toFixed(6))}.`;
}

function excerpt(text: string): string {
	return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
