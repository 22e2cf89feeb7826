import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { type ImageRequest, type Order, showOrder } from '../../../gateway';
import { withoutInlineImages } from '../../../util/inlineImages';
import { withoutUndefined } from '../../../util/json';
import type { OutputSettings } from '../images/imageItems';

/** A request that was checked, and isn't sent. */
interface DryRun {
	request: ImageRequest;
	violations: string[];
	estimatedCost?: number;
}

/** The result of the checks in words. */
const verdictOf = (violations: string[]): string =>
	violations.length === 0 ? 'Passed' : `Would be refused: ${violations.join('; ')}`;

/**
 * The output item of a dry run: the exact request without the key, its checks and estimated cost.
 */
export function dryRunItem(
	order: Order,
	{ request: sent, violations, estimatedCost }: DryRun,
	{ itemIndex, inputFields }: OutputSettings,
): INodeExecutionData {
	// In the order of a table's columns; without a known cost, the column stays.
	const json = {
		estimatedCost: estimatedCost ?? null,
		...{ model: sent.model, prompt: sent.prompt, verdict: verdictOf(violations) },
		...inputFields,
		dryRun: true,
		checks: { passed: violations.length === 0, violations },
		request: withoutInlineImages(withoutUndefined(showOrder(order))),
	};
	return { json: json as IDataObject, pairedItem: { item: itemIndex } };
}
