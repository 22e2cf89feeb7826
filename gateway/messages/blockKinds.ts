import { isJsonObject, nonEmptyString } from '../../util/json';

const isOf =
	(type: string) =>
	(block: unknown): boolean =>
		isJsonObject(block) && block.type === type;

/** Whether a block of a message is a call of a tool. */
export const isToolCall = isOf('tool_use');

/** Whether a block is the result of such a call. */
export const isToolResult = isOf('tool_result');

/** Whether a block is thinking, readable or not. */
export const isThinking = (block: unknown): boolean =>
	isJsonObject(block) && typeof block.type === 'string' && block.type.endsWith('thinking');

/** The texts in blocks of a type, which they have under the name of the type. */
export const textsIn = (blocks: unknown[], type: 'text' | 'thinking'): string[] =>
	blocks
		.filter(isJsonObject)
		.map((block) => (block.type === type ? block[type] : undefined))
		.filter((text) => typeof text === 'string');

/** Whether a block is a text without content. */
export const isBlankText = (block: unknown): boolean =>
	isJsonObject(block) && block.type === 'text' && nonEmptyString(block.text) === undefined;
