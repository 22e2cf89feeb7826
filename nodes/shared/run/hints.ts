import type { IExecuteFunctions } from 'n8n-workflow';
import { withoutDataUrls } from '../../../gateway/util/inlineImages';

/** Shows remarks at the node's output; they change nothing of the result. */
export function addHints(context: IExecuteFunctions, hints: Iterable<string>): void {
	for (const hint of hints) {
		const message = withoutDataUrls(hint);
		context.addExecutionHints?.({ message, type: 'warning', location: 'outputPane' });
	}
}
