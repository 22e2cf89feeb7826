import type { IDataObject, INodeExecutionData } from 'n8n-workflow';
import { withoutInlineImages } from '../../../gateway/util/inlineImages';
import { withoutUndefined, type RequestPlan } from '../../../gateway/protocol/requestPlan';

/** What would have been sent: the exact request, but for the key, and what was found out about it. */
export function dryRunItem(
	{ method, headers, body, form }: RequestPlan,
	url: string,
	violations: string[],
	estimatedCost: number | undefined,
	itemIndex: number,
): INodeExecutionData {
	const files = form?.files.map(({ name, fileName, mimeType, size }) => ({
		name,
		fileName,
		mimeType,
		size,
	}));
	const request = {
		method,
		url,
		headers: { ...headers, Authorization: 'Bearer ***' },
		body,
		form: form === undefined ? undefined : { fields: Object.fromEntries(form.fields), files },
	};
	const checks = { passed: violations.length === 0, violations };
	return {
		json: withoutUndefined({
			dryRun: true,
			request: withoutInlineImages(withoutUndefined(request)),
			checks,
			estimatedCost,
		}) as IDataObject,
		pairedItem: { item: itemIndex },
	};
}
