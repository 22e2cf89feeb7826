import { withoutFields, type JsonObject } from '../../util/json';
import { quote } from '../../util/text';
import { LISTS_OF_INPUTS } from '../protocol/credential';
import { bodyOf, IMAGE_FIELD, type ImageRequest } from '../protocol/requestPlan';
import type { TaskType } from '../protocol/taskType';
import { countImages, type ImageCount } from './imageCount';
import { checkRequest, withPublishedTypes } from './modelLimits';
import type { ModelRecord } from './models';
import { estimateCost, pricePerImage } from './pricing';

/** The estimated cost of a request, or why it is unknown. */
interface Estimate {
	/** The cost of all requested images; undefined if the model has no fixed price. */
	estimatedCost?: number;
	/** The price of an image, if the model has one. */
	pricePerImage?: number;
	/** The reason if there is no estimate, as a sentence. */
	noEstimate?: string;
}

/** A request that was checked against the published model. */
export interface Checked<R extends ImageRequest = ImageRequest> extends Estimate {
	/** The same request, with parameters of the published types. */
	request: R;
	/** What the model doesn't support, one sentence each. */
	violations: string[];
	/** The number of images that the request is for; undefined if that isn't clear, or a limit. */
	requested?: number;
}

/**
 * Checks a request against the published model (docs/protocol.md, "Model list").
 *
 * @returns the request with parameters of the published types, and its price
 */
export function checkModel<R extends ImageRequest>(
	record: ModelRecord,
	request: R,
	sent: { taskType: TaskType; asynchronous: boolean },
): Checked<R> {
	const modelParameters = withPublishedTypes(record, request.modelParameters ?? {});
	const parameters = parametersOf({ ...request, modelParameters });
	const images = request.files?.filter(
		({ name, url }) => name === IMAGE_FIELD && url === undefined,
	);
	const count = countImages({ ...record.defaults, ...parameters }, record.parameters);
	const { imageCount } = request;
	return {
		request: { ...request, modelParameters },
		violations: checkRequest(record, { ...sent, parameters, images, imageCount }),
		requested: exactly(count),
		...estimateOf(record, count, sendsImages(request, parameters)),
	};
}

/** Whether a request sends images: those to edit, or some in a field of its own. */
const sendsImages = ({ files = [], imageCount = files.length }: ImageRequest, sent: JsonObject) =>
	imageCount > 0 ||
	Object.values(LISTS_OF_INPUTS).some((name) => [sent[name] ?? []].flat().length > 0);

/** A request as the result of no check. */
export const unchecked = <R extends ImageRequest>(request: R): Checked<R> => ({
	request,
	violations: [],
	requested: exactly(countImages(parametersOf(request))),
});

/** The parameters of a request: all that is sent but its model and its prompt. */
const parametersOf = (request: ImageRequest): JsonObject =>
	withoutFields(bodyOf(request), ['model', 'prompt']);

const exactly = (count: ImageCount): number | undefined =>
	'images' in count && !count.isLimit ? count.images : undefined;

/** The estimated cost of a request for a listed model. */
function estimateOf(
	{ billing, noPrice = NO_PRICE }: ModelRecord,
	count: ImageCount,
	hasImages: boolean,
): Estimate {
	if (hasImages && billing?.chargesInputs) {
		return { noEstimate: 'The gateway also charges for each image that is sent.' };
	}
	const perImage = pricePerImage(billing);
	if ('unclear' in count && perImage !== undefined) {
		const names = quote(count.unclear.map((name) => `'${name}'`).join(', '));
		return {
			pricePerImage: perImage,
			noEstimate: `It isn't clear how many images the request is for: see ${names}.`,
		};
	}
	const estimatedCost = estimateCost(billing, 'images' in count ? count.images : 1);
	if (estimatedCost !== undefined) return { estimatedCost, pricePerImage: perImage };
	return { noEstimate: noPrice };
}

const NO_PRICE = 'The model list has no fixed price for each image or request.';
