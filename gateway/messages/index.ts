/* The door of the messages: what code outside of gateway/ may use of them. */
export { type ChatPart, toConversation } from './chat';
export { type ChatResponse } from './chatResponse';
export { jsonInText, readJsonOf } from './jsonResponse';
export {
	hintsOf,
	isThinkingOff,
	type MessageRequest,
	type MessageSettings,
	planMessage,
	promptOf,
	readMessage,
	readTurns,
	type Turn,
} from './message';
export {
	addressBlock,
	bytesBlock,
	isRefusedImage,
	namesLeftOutFiles,
	withoutFiles,
} from './messageFiles';
export { type ChatRequest, Messenger } from './messenger';
export { responseHint } from './responseHint';
export { continueTurns } from './sentTurns';
export type { StoredTurn } from './thinkingHistory';
export { toolChoiceField, toolFields } from './toolFields';
export { type WireNames, withOwnNames } from './wireNames';
