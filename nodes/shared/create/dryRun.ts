import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan';
import { withoutInlineImages } from '../../../gateway/util/inlineImages';
import { withoutUndefined } from '../../../gateway/util/json';
import type { ImageTarget } from '../images/imageItems';

/**
 * The output item of a dry run: the exact request without the key, its checks and estimated cost.
 */
export function dryRunItem(
	{ method, headers, body, form, inline }: RequestPlan,
	url: string,
	{ violations, estimatedCost }: { violations: string[]; estimatedCost?: number },
	{ itemIndex, inputFields }: ImageTarget,
): INodeExecutionData {
	const files = (form ?? inline)?.files.map(({ name, fileName, mimeType, size, url: address }) =>
		address === undefined ? { name, fileName, mimeType, size } : { name, url: address },
	);
	const request = {
		method,
		url,
		headers: { ...headers, Authorization: 'Bearer ***' },
		body,
		form: form === undefined ? undefined : { fields: Object.fromEntries(form.fields), files },
		files: inline && files,
	};
	const checks = { passed: violations.length === 0, violations };
	const own = { dryRun: true, request: withoutInlineImages(withoutUndefined(request)), checks };
	return {
		json: { ...inputFields, ...(withoutUndefined({ ...own, estimatedCost }) as IDataObject) },
		pairedItem: { item: itemIndex },
	};
}
