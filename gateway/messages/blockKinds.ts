import { isJsonObject, nonEmptyString } from '../../util/json';

/** Whether a block is thinking, readable or not. */
export const isThinking = (block: unknown): boolean =>
	isJsonObject(block) && typeof block.type === 'string' && block.type.endsWith('thinking');

/** Whether a block is a text without content. */
export const isBlankText = (block: unknown): boolean =>
	isJsonObject(block) && block.type === 'text' && nonEmptyString(block.text) === undefined;
