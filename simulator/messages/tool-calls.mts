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
export interface Errand {
	text: string;
	rounds: number;
	results: { text: string; failed: boolean }[];
}

/** Finds the last turn that a person wrote and the tool results after it. */
export function readErrand(turns: readonly Turn[]): Errand {
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
	return { text: turn ? textOf(turn) : '', rounds: answered.length, results };
}

/**
 * The tool calls of this turn: what the text asks for step by step, or all of it at once if it
 * says "both". Empty: nothing is left to call.
 */
export function nextCalls(errand: Errand, tools: readonly Tool[], choice: unknown): ToolCall[] {
	const { type, name } = (choice ?? {}) as { type?: string; name?: string };
	if (type === 'none' || tools.length === 0 || errand.results.some(({ failed }) => failed))
		return [];
	const forced = tools.find((tool) => tool.name === name) ?? tools[0]!;
	if (type === 'tool') return [call(forced, errand)];
	const steps = drawingSteps(errand, tools) ?? namedSteps(errand, tools);
	if (steps.length === 0 && type === 'any' && errand.rounds === 0) return [call(forced, errand)];
	if (/\bboth\b/i.test(errand.text)) return errand.rounds === 0 ? steps : [];
	return steps.slice(errand.rounds, errand.rounds + 1);
}

/** "draw a fox, then make it night": a generation, and an edit of what came of it. */
function drawingSteps(errand: Errand, tools: readonly Tool[]): ToolCall[] | undefined {
	const wish = /\b(?:draw|paint|sketch)\b\s+(?:me\s+)?(.+)/is.exec(errand.text)?.[1];
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
	const drawings = subjects.map((text) => call(generator, { ...errand, text }));
	if (editor === undefined) return drawings;
	return [...drawings, ...changes.map((text) => call(editor, { ...errand, text }))];
}

/** The tools whose names occur in the text, in that order. */
function namedSteps(errand: Errand, tools: readonly Tool[]): ToolCall[] {
	const text = plain(errand.text);
	const found = tools.map((tool) => ({ tool, at: text.indexOf(plain(tool.name)) }));
	const named = found.filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at);
	return named.map(({ tool }) => call(tool, errand));
}

function plain(text: string): string {
	return text.toLowerCase().replace(/[_\s-]+/g, ' ');
}

function call(tool: Tool, errand: Errand): ToolCall {
	return { tool, input: fill(tool.input_schema ?? {}, '', errand) };
}

/** A value that fits a schema and, by its name, the errand. */
function fill(schema: Schema, name: string, errand: Errand): unknown {
	if (schema.enum?.length) {
		const named = schema.enum.find((value) => plain(errand.text).includes(plain(String(value))));
		return named ?? schema.default ?? schema.enum[0];
	}
	const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
	switch (type) {
		case 'array':
			return [fill(schema.items ?? { type: 'string' }, name, errand)];
		case 'integer':
		case 'number':
			return Number(/\d+/.exec(errand.text)?.[0] ?? schema.default ?? schema.minimum ?? 1);
		case 'boolean':
			return schema.default ?? true;
		case 'string':
			return words(name, errand);
		default:
			return fields(schema, errand);
	}
}

function fields(schema: Schema, errand: Errand): Record<string, unknown> {
	const properties = Object.entries(schema.properties ?? {});
	const telling = /prompt|query|text|question|image|url|input/i;
	const wanted = properties.filter(
		([name]) => schema.required?.includes(name) ?? telling.test(name),
	);
	return Object.fromEntries(wanted.map(([name, value]) => [name, fill(value, name, errand)]));
}

function words(name: string, errand: Errand): string {
	if (/url|image|picture|link/i.test(name) && !/prompt/i.test(name))
		return lastAddress(errand) ?? '';
	return errand.text;
}

/** The last web address that the tools, or else the user, mentioned. */
export function lastAddress({ results, text }: Errand): string | undefined {
	const sources = [text, ...results.map((result) => result.text)];
	return sources.flatMap((source) => source.match(/https?:\/\/[^\s"'<>)\]}\\,]+/g) ?? []).at(-1);
}
