import type { IExecuteFunctions } from 'n8n-workflow';

/** What a run says while it runs, and after a Stop: n8n shows and stores nothing of it then. */
export interface Watcher {
	/** Whether a person may be watching: the node was started in the editor, and not by an agent. */
	isWatching: boolean;
	/** Writes to the console of the person's browser. */
	say(message: string): void;
}

/** In characters: the IDs of more than a thousand tasks. */
const LONGEST_MESSAGE = 100_000;

/** n8n's limit for the values that it stores beside the data of an execution. */
const MOST_VALUES = 10;
/** In characters: n8n logs an error where a value is longer. */
const LONGEST_VALUE = 255;

/**
 * Stores lines as custom data of the execution, the only thing of a stopped node that n8n stores. It
 * shows them as highlighted data.
 */
function keep(context: IExecuteFunctions, lines: string[]): void {
	const values = [''];
	for (const line of lines) {
		const last = values.pop() ?? '';
		const joined = last === '' ? line : `${last}\n${line}`;
		values.push(...(joined.length > LONGEST_VALUE && last !== '' ? [last, line] : [joined]));
	}
	values.slice(0, MOST_VALUES).forEach((value, index) => {
		context.customData?.set(`media_gateway_${index + 1}`, value.slice(0, LONGEST_VALUE));
	});
}

/** @param isTool whether an AI agent has called the node */
export function watcherOf(context: IExecuteFunctions, isTool: boolean): Watcher {
	const isWatching = context.getMode() === 'manual' && !isTool;
	const say = (message: string): void => {
		if (isWatching) context.sendMessageToUI(message.slice(0, LONGEST_MESSAGE));
	};
	return { isWatching, say };
}

/** Writes what a stopped run leaves behind to the person's console and to n8n's log, and keeps it. */
export function sayStopped(context: IExecuteFunctions, isTool: boolean, leftovers: string): void {
	if (leftovers === '') return;
	const message = `The execution was stopped. ${leftovers}`.slice(0, LONGEST_MESSAGE);
	watcherOf(context, isTool).say(message);
	const where = `Media Gateway, "${context.getNode().name}", execution ${context.getExecutionId()}`;
	context.logger?.warn(`${where}: ${message}`);
	keep(context, leftovers.split('\n'));
}
