import { checkRequest, inWords, withPublishedTypes } from '../../../gateway/validation/modelLimits';
import { estimateCost, pricePerImage } from '../../../gateway/validation/pricing';
import { makesVideos, suits, type ModelRecord } from '../../../gateway/protocol/models';
import type {
	EditRequest,
	GenerationRequest,
	TaskType,
} from '../../../gateway/protocol/requestPlan';
import { didYouMean } from '../../../gateway/util/closestMatch';
import { GatewayError, UnknownOutcomeError, withDetails } from '../../../gateway/util/gatewayError';
import { withoutUndefined } from '../../../gateway/util/json';
import { requestModels } from './modelCache';
import type { Run } from '../run/runContext';

/** What a node asks for one item: a generation, or an edit with its files. */
export interface ImageRequest extends GenerationRequest, Partial<Pick<EditRequest, 'files'>> {
	/** How many images there are to edit. */
	imageCount?: number;
}

/** What a request will cost, or why that is unknown. */
export interface Estimate {
	/** For as many images as it asks for; undefined where no fixed price is published. */
	estimatedCost?: number;
	/** Where the model is priced by the image. */
	pricePerImage?: number;
	/** Why there is no estimate, as a sentence. */
	noEstimate?: string;
}

/** A request after it was held against what the gateway publishes of its model. */
export interface Checked<R extends ImageRequest> extends Estimate {
	/** The same request with the types that the model publishes. */
	request: R;
	/** What the model does not take, one sentence each. */
	violations: string[];
}

/** What the listing says of a model name. */
interface Listed {
	record?: ModelRecord;
	/** The model has no other task than to make videos; also one whose name is only spelled another way. */
	video?: string;
	/** The nearest names, as a question, where the model is not listed; may be empty. */
	suggestion: string;
}

/**
 * Holds requests against the listing, which is asked for once in a run.
 *
 * The run never depends on the listing: where it cannot be had, or does not name the model, the
 * request goes out as it is, with a hint.
 */
export class Checker {
	private listing?: Promise<ModelRecord[] | undefined>;

	private noListing = "The gateway doesn't list this model.";

	/** By model name: thousands of items may name one. */
	private readonly listed = new Map<string, Listed>();

	/** Models and their parameters that have been looked at for a hint. */
	private readonly namesSeen = new Set<string>();

	constructor(
		private readonly run: Run,
		private readonly taskType: TaskType,
	) {}

	/** @throws GatewayError if the model makes videos */
	async check<R extends ImageRequest>(request: R, asynchronous: boolean): Promise<Checked<R>> {
		this.listing ??= this.load();
		const models = await this.listing;
		if (models === undefined) return { request, violations: [], noEstimate: this.noListing };
		const { model } = request;
		const { record, video, suggestion } = this.find(models, model);
		if (video !== undefined) {
			throw new GatewayError({
				message: `The model '${video}' generates videos, and the gateway has no endpoint for videos`,
				description: 'Choose an image model from the list. Nothing was sent for this item.',
			});
		}
		if (record === undefined) {
			this.run.hints.add(
				`The gateway doesn't list the model '${model.slice(0, LONGEST_NAME)}', so the request wasn't checked before sending. ${suggestion}`.trim(),
			);
			return { request, violations: [], noEstimate: this.noListing };
		}
		const given = request.modelParameters ?? {};
		this.hintMisspelled(record, Object.keys(given));
		const modelParameters = withPublishedTypes(record, given);
		const isSame = Object.keys(given).every((name) => modelParameters[name] === given[name]);
		const fields = withoutUndefined(request.fields ?? {});
		const parameters = { ...modelParameters, ...fields, ...request.extraFields };
		const images = request.files?.filter(({ name }) => name === 'image' || name === 'image[]');
		const { taskType } = this;
		const { imageCount } = request;
		const facts = { taskType, asynchronous, parameters, images, imageCount };
		const violations = checkRequest(record, facts);
		return {
			// The very same where nothing changes.
			request: isSame ? request : { ...request, modelParameters },
			violations: violations.map(inWords),
			...estimateOf(record, parameters.n),
		};
	}

	/** A name that the gateway doesn't know is ignored by most, and the image charged all the same. */
	private hintMisspelled({ model, parameters }: ModelRecord, given: string[]): void {
		const published = Object.keys(parameters);
		for (const name of given) {
			const key = JSON.stringify([model, name]);
			const isKnown = Object.hasOwn(parameters, name) || this.namesSeen.has(key);
			if (isKnown || this.namesSeen.size >= MOST_SUGGESTIONS) continue;
			this.namesSeen.add(key);
			const suggestion = didYouMean(name, published);
			if (suggestion === '') continue;
			this.run.hints.add(
				`'${name}' is not a published parameter of the model '${model}'. ${suggestion}`,
			);
		}
	}

	/**
	 * The error of a request, which also names the nearest models where the gateway refused it and
	 * does not publish its model.
	 */
	async explain(error: unknown, model: string): Promise<unknown> {
		if (!(error instanceof GatewayError) || error instanceof UnknownOutcomeError) return error;
		const { httpCode = 0, description } = error.problem;
		const models = await this.listing?.catch(() => undefined);
		if (models === undefined || ![400, 404, 422].includes(httpCode)) return error;
		const { record, suggestion } = this.find(models, model);
		if (record !== undefined) return error;
		const advice = [`The gateway doesn't list the model '${model.slice(0, 100)}'.`, suggestion];
		return withDetails(error, {
			description: [...advice, description].filter((text) => text !== '').join(' '),
		});
	}

	private async load(): Promise<ModelRecord[] | undefined> {
		try {
			return await requestModels(this.run);
		} catch (error) {
			if (!(error instanceof GatewayError)) return await Promise.reject(error);
			const { message } = error;
			this.run.hints.add(`The requests weren't checked against the model's limits: ${message}.`);
			this.noListing = `The list of prices couldn't be read: ${message}.`;
			return undefined;
		}
	}

	private find(models: ModelRecord[], name: string): Listed {
		const known = this.listed.get(name);
		if (known !== undefined) return known;
		const record = models.find(({ model }) => model === name);
		const plain = plainName(name);
		const named = record ?? models.find(({ model }) => plainName(model) === plain);
		const mode = this.taskType === 'edit' ? 'image_edit' : 'text_to_image';
		const able = record === undefined ? models.filter((other) => suits(other, mode)) : [];
		const names = able.map(({ model }) => model);
		const found = {
			record,
			video: named !== undefined && makesVideos(named) ? named.model : undefined,
			suggestion: this.listed.size < MOST_SUGGESTIONS ? didYouMean(name, names) : '',
		};
		this.listed.set(name, found);
		return found;
	}
}

/** What a request for a listed model will cost. @param n how many images it asks for */
function estimateOf({ billing }: ModelRecord, n: unknown): Estimate {
	const count = Number(n ?? 1);
	const estimatedCost = estimateCost(billing, count >= 1 && count < Infinity ? count : 1);
	if (estimatedCost !== undefined) return { estimatedCost, pricePerImage: pricePerImage(billing) };
	return { noEstimate: 'The model list has no fixed price for each image or request.' };
}

/** The first names of a run get suggestions: thousands of items may each name another. */
const MOST_SUGGESTIONS = 100;

/** No model has a longer name. */
const LONGEST_NAME = 200;

/** A name without what people spell in different ways: case, blanks, hyphens and underscores. */
const plainName = (name: string): string =>
	name
		.slice(0, LONGEST_NAME)
		.normalize('NFKC')
		.toLowerCase()
		.replace(/[\s_-]/g, '');
