import type { IExecuteFunctions } from 'n8n-workflow';

/** Shows remarks at the node's output; they change nothing of the result. */
export function addHints(context: IExecuteFunctions, hints: Iterable<string>): void {
	for (const message of hints) {
		context.addExecutionHints?.({ message, type: 'warning', location: 'outputPane' });
	}
}
