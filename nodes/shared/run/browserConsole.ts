import type { IExecuteFunctions } from 'n8n-workflow';

/** The longest message, in characters: the IDs of more than a thousand tasks. */
export const LONGEST_MESSAGE = 100_000;

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
