import type { IExecuteFunctions } from 'n8n-workflow';

/** The longest message, in characters: the IDs of more than a thousand tasks. */
const LONGEST_MESSAGE = 100_000;

/** The most custom data values of an execution in n8n. */
const MOST_VALUES = 10;
/** The longest custom data value in n8n, in characters. */
const LONGEST_VALUE = 255;

/**
 * Stores lines as custom data of the execution, which n8n shows as highlighted data. It is all that
 * n8n stores of a stopped node.
 */
function storeAsCustomData(context: IExecuteFunctions, lines: string[]): void {
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

/**
 * The console of the browser in which a person has started the node: the only place for messages
 * while the node runs, and after a Stop. It isn't open if something else has started the workflow.
 *
 * @param isTool whether an AI agent has called the node
 */
export function browserConsoleOf(context: IExecuteFunctions, isTool: boolean) {
	const isOpen = context.getMode() === 'manual' && !isTool;
	const log = (message: string): void => {
		if (isOpen) context.sendMessageToUI(message.slice(0, LONGEST_MESSAGE));
	};
	return { isOpen, log };
}

/**
 * Reports the tasks and payments of a stopped run: in the browser's console, in n8n's log, and in
 * the execution.
 */
export function reportStopped(
	context: IExecuteFunctions,
	isTool: boolean,
	unreturned: string,
): void {
	if (unreturned === '') return;
	const message = `The execution was stopped. ${unreturned}`.slice(0, LONGEST_MESSAGE);
	browserConsoleOf(context, isTool).log(message);
	const where = `Media Gateway, "${context.getNode().name}", execution ${context.getExecutionId()}`;
	context.logger?.warn(`${where}: ${message}`);
	storeAsCustomData(context, unreturned.split('\n'));
}
