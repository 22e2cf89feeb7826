import { messageRefusal } from '../http/gateway-response.mjs';
import { resultText, textOf, type Turn } from './conversation.mjs';

export interface Tool {
	name: string;
	description?: string;
	input_schema?: Schema;
}

interface Schema {
	type?: string | string[];
	properties?: Record<string, Schema>;
	required?: string[];
	enum?: unknown[];
	default?: unknown;
	items?: Schema;
	minimum?: number;
}

export interface ToolCall {
	tool: Tool;
	input: unknown;
}

/** What the user asked for last, and what the tools have answered since. */
export interface ToolRequest {
	text: string;
	rounds: number;
	results: { text: string; failed: boolean }[];
	/** The last web address of the conversation before. */
	earlier?: string;
}

/** Checks the tools of a request; throws a 400 in the endpoint's own words. */
export function checkTools(
	{ tools, tool_choice: choice }: Record<string, unknown>,
	thinking: boolean,
) {
	const listed = Array.isArray(tools) ? (tools as (Tool | null)[]) : [];
	for (const [index, tool] of listed.entries()) {
		const schema = tool?.input_schema as Record<string, unknown> | undefined;
		const at = `tools.${index}.custom.input_schema`;
		if (schema?.type !== 'object')
			throw messageRefusal(400, `${at}.type: Input should be 'object'`);
		if (!['oneOf', 'allOf', 'anyOf'].some((keyword) => keyword in schema)) continue;
		const reason = 'input_schema does not support oneOf, allOf, or anyOf at the top level';
		throw messageRefusal(400, `${at}: ${reason}`);
	}
	const { type } = (choice ?? {}) as { type?: string };
	if (choice !== undefined && !['auto', 'any', 'tool', 'none'].includes(String(type))) {
		throw messageRefusal(400, 'tool_choice.type: Input should be auto, any, tool or none');
	}
	if (thinking && (type === 'any' || type === 'tool')) {
		throw messageRefusal(400, 'Thinking may not be enabled when tool_choice forces tool use.');
	}
}

/** Finds the last turn that a person wrote and the tool results after it. */
export function readToolRequest(turns: readonly Turn[]): ToolRequest {
	const isResult = (turn: Turn) => turn.content.some(({ type }) => type === 'tool_result');
	const asked = turns.findLastIndex((turn) => turn.role === 'user' && !isResult(turn));
	const answered = turns.slice(asked + 1).filter(isResult);
	const blocks = answered.flatMap(({ content }) =>
		content.filter(({ type }) => type === 'tool_result'),
	);
	const results = blocks.map((block) => ({
		text: resultText(block),
		failed: block.is_error === true,
	}));
	const turn = turns[asked];
	const earlier = addressesIn(turns.slice(0, Math.max(asked, 0)).map(textOf)).at(-1);
	return { text: turn ? textOf(turn) : '', rounds: answered.length, results, earlier };
}

/**
 * The tool calls of this turn: what the text asks for step by step, or all of it at once if it
 * says "both". Empty: nothing is left to call.
 */
export function nextCalls(
	toolRequest: ToolRequest,
	tools: readonly Tool[],
	choice: unknown,
): ToolCall[] {
	const { type, name } = (choice ?? {}) as { type?: string; name?: string };
	if (type === 'none' || tools.length === 0 || toolRequest.results.some(({ failed }) => failed))
		return [];
	const forced = tools.find((tool) => tool.name === name) ?? tools[0]!;
	if (type === 'tool') return [call(forced, toolRequest)];
	const steps =
		drawingSteps(toolRequest, tools) ??
		changeSteps(toolRequest, tools) ??
		namedSteps(toolRequest, tools);
	if (steps.length === 0 && type === 'any' && toolRequest.rounds === 0)
		return [call(forced, toolRequest)];
	if (/\bboth\b/i.test(toolRequest.text)) return toolRequest.rounds === 0 ? steps : [];
	return steps.slice(toolRequest.rounds, toolRequest.rounds + 1);
}

/** "draw a fox, then make it night": a generation, and an edit of what came of it. */
function drawingSteps(toolRequest: ToolRequest, tools: readonly Tool[]): ToolCall[] | undefined {
	const wish = /\b(?:draw|paint|sketch)\b\s+(?:me\s+)?(.+)/is.exec(toolRequest.text)?.[1];
	const editor = tools.find(({ name }) => /edit/i.test(name));
	const described = (pattern: RegExp) => {
		return tools.find(
			(tool) => tool !== editor && pattern.test(`${tool.name} ${tool.description}`),
		);
	};
	const generator = described(/generat/i) ?? described(/draw|paint/i);
	if (wish === undefined || generator === undefined) return undefined;
	const [first = '', ...changes] = wish
		.trim()
		.replace(/[.!?]+$/, '')
		.split(/[,;.]?\s+(?:and\s+)?then\s+/i);
	const both = /^both\s+(.+?)\s+and\s+(.+)$/i.exec(first);
	const subjects = both ? [both[1]!, both[2]!] : [first];
	const drawings = subjects.map((text) => call(generator, { ...toolRequest, text }));
	if (editor === undefined) return drawings;
	return [...drawings, ...changes.map((text) => call(editor, { ...toolRequest, text }))];
}

/** "now make it winter": an edit of the image that the conversation has come to. */
function changeSteps(toolRequest: ToolRequest, tools: readonly Tool[]): ToolCall[] | undefined {
	const change = /^\s*(?:and\s+)?(?:now\s+|then\s+)?((?:make|turn)\s+it\b.*)/is.exec(
		toolRequest.text,
	)?.[1];
	const editor = tools.find(({ name }) => /edit/i.test(name));
	if (change === undefined || editor === undefined || toolRequest.earlier === undefined) {
		return undefined;
	}
	return [call(editor, { ...toolRequest, text: change.trim().replace(/[.!?]+$/, '') })];
}

/** The tools whose names occur in the text, in that order. */
function namedSteps(toolRequest: ToolRequest, tools: readonly Tool[]): ToolCall[] {
	const text = plain(toolRequest.text);
	const found = tools.map((tool) => ({ tool, at: text.indexOf(plain(tool.name)) }));
	const named = found.filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at);
	return named.map(({ tool }) => call(tool, toolRequest));
}

function plain(text: string): string {
	return text.toLowerCase().replace(/[_\s-]+/g, ' ');
}

function call(tool: Tool, toolRequest: ToolRequest): ToolCall {
	return { tool, input: fill(tool.input_schema ?? {}, '', toolRequest) };
}

/** A value that fits a schema and, by its name, what the user asked for. */
function fill(schema: Schema, name: string, toolRequest: ToolRequest): unknown {
	if (schema.enum?.length) {
		const named = schema.enum.find((value) =>
			plain(toolRequest.text).includes(plain(String(value))),
		);
		return named ?? schema.default ?? schema.enum[0];
	}
	const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
	switch (type) {
		case 'array':
			return [fill(schema.items ?? { type: 'string' }, name, toolRequest)];
		case 'integer':
		case 'number':
			return Number(/\d+/.exec(toolRequest.text)?.[0] ?? schema.default ?? schema.minimum ?? 1);
		case 'boolean':
			return schema.default ?? true;
		case 'string':
			return words(name, toolRequest);
		default:
			return fields(schema, toolRequest);
	}
}

function fields(schema: Schema, toolRequest: ToolRequest): Record<string, unknown> {
	const properties = Object.entries(schema.properties ?? {});
	const telling = /prompt|query|text|question|image|url|input/i;
	const wanted = properties.filter(
		([name]) => schema.required?.includes(name) ?? telling.test(name),
	);
	return Object.fromEntries(wanted.map(([name, value]) => [name, fill(value, name, toolRequest)]));
}

function words(name: string, toolRequest: ToolRequest): string {
	if (/url|image|picture|link/i.test(name) && !/prompt/i.test(name))
		return lastAddress(toolRequest) ?? toolRequest.earlier ?? '';
	return toolRequest.text;
}

/** The last web address that the tools, or else the user, mentioned. */
export function lastAddress({ results, text }: ToolRequest): string | undefined {
	return addressesIn([text, ...results.map((result) => result.text)]).at(-1);
}

function addressesIn(texts: readonly string[]): string[] {
	return texts.flatMap((text) => text.match(/https?:\/\/[^\s"'<>)\]}\\,]+/g) ?? []);
}
