import { countImages, type ImageCount } from '../../../gateway/models/imageCount';
import { checkRequest, withPublishedTypes } from '../../../gateway/models/modelLimits';
import { estimateCost, pricePerImage } from '../../../gateway/models/pricing';
import { makesVideos, MODE_OF, suits, type ModelRecord } from '../../../gateway/models/models';
import {
	IMAGE_FIELD,
	type ImageRequest,
	type TaskType,
} from '../../../gateway/protocol/requestPlan';
import { didYouMean } from '../../../util/closestMatch';
import { GatewayError, withDetails, hasCode } from '../../../gateway/protocol/gatewayError';
import { withoutUndefined, type JsonObject } from '../../../util/json';
import { quote } from '../../../util/text';
import { NoListError, type ModelList } from '../../../gateway/models/modelLists';
import type { Run } from '../run/runContext';

/** The estimated cost of a request, or why it is unknown. */
export interface Estimate {
	/** The cost of all requested images; undefined if the model has no fixed price. */
	estimatedCost?: number;
	/** The price of an image, if the model has one. */
	pricePerImage?: number;
	/** The reason if there is no estimate, as a sentence. */
	noEstimate?: string;
}

/** A request that was checked against the published model. */
export interface Checked<R extends ImageRequest> extends Estimate {
	/** The same request, with parameters of the published types. */
	request: R;
	/** What the model doesn't support, one sentence each. */
	violations: string[];
	/** The number of images that the request is for; undefined if that isn't clear, or a limit. */
	requested?: number;
}

/** The result of looking up a model name in the model list. */
interface Listed {
	record?: ModelRecord;
	/** A question with similar names, if the model isn't listed; may be empty. */
	suggestion: string;
}

/**
 * Checks requests against the model list, which is requested once in a run. If there is no list, or
 * the model isn't in it, the request is sent unchecked, with a hint.
 */
export class Checker {
	private listing?: Promise<ModelList | undefined>;

	private noListing = "The gateway doesn't list this model.";

	/** Results by model name: thousands of items may have the same model. */
	private readonly listed = new Map<string, Listed>();

	constructor(
		private readonly run: Run,
		private readonly taskType: TaskType,
	) {}

	/**
	 * Whether a model publishes only synchronous requests, in which 'Submit and Wait' then sends them,
	 * with a hint.
	 */
	async isOnlySync(model: string): Promise<boolean> {
		const { generationModes = [] } = (await this.lookUp(model))?.record ?? {};
		const isOnlySync = generationModes.includes('sync') && !generationModes.includes('async');
		if (isOnlySync) {
			this.run.hints.add(
				`The model '${model.slice(0, LONGEST_NAME)}' has no tasks, so 'Submit and Wait' uses one synchronous request for each item.`,
			);
		}
		return isOnlySync;
	}

	/** @throws GatewayError if the model generates videos */
	async check<R extends ImageRequest>(request: R, asynchronous: boolean): Promise<Checked<R>> {
		const { model } = request;
		const listed = await this.lookUp(model);
		if (listed === undefined) return { ...unchecked(request), noEstimate: this.noListing };
		const { record, suggestion } = listed;
		if (record !== undefined && makesVideos(record)) {
			throw new GatewayError({
				message: `The model '${model}' generates videos, and the gateway has no endpoint for videos`,
				description: `Choose an image model from the list. ${SEND_ANYWAY}`,
			});
		}
		if (record === undefined) {
			this.run.hints.add(
				`The gateway doesn't list the model '${model.slice(0, LONGEST_NAME)}', so the request wasn't checked before sending. ${suggestion}`.trim(),
			);
			return { ...unchecked(request), noEstimate: this.noListing };
		}
		const given = request.modelParameters ?? {};
		this.hintMisspelled(record, Object.keys(given));
		const modelParameters = withPublishedTypes(record, given);
		const parameters = parametersOf({ ...request, modelParameters });
		const images = request.files?.filter(
			({ name, url }) => name === IMAGE_FIELD && url === undefined,
		);
		const { taskType } = this;
		const { imageCount } = request;
		const facts = { taskType, asynchronous, parameters, images, imageCount };
		const count = countImages(parameters, record.parameters);
		return {
			request: { ...request, modelParameters },
			violations: checkRequest(record, facts),
			requested: exactly(count),
			...estimateOf(record, count),
		};
	}

	/** Adds a hint for a misspelled parameter: most gateways ignore it, and charge for the image. */
	private hintMisspelled({ model, parameters }: ModelRecord, given: string[]): void {
		for (const name of given) {
			if (Object.hasOwn(parameters, name)) continue;
			const suggestion = didYouMean(name, Object.keys(parameters));
			if (suggestion === '') continue;
			this.run.hints.add(
				`'${name}' is not a published parameter of the model '${model}'. ${suggestion}`,
			);
		}
	}

	/** The error of a rejected request, with similar model names if its model isn't listed. */
	async explain(error: unknown, model: string): Promise<unknown> {
		if (!(error instanceof GatewayError) || hasCode(error, 'outcomeUnknown')) return error;
		const { httpCode = 0, description } = error.problem;
		const { models } = (await this.listing?.catch(() => undefined)) ?? {};
		if (models === undefined || ![400, 404, 422].includes(httpCode)) return error;
		const { record, suggestion } = this.find(models, model);
		if (record !== undefined) return error;
		const advice = [`The gateway doesn't list the model '${model.slice(0, 100)}'.`, suggestion];
		return withDetails(error, {
			description: [...advice, description].filter((text) => text !== '').join(' '),
		});
	}

	private async load(): Promise<ModelList | undefined> {
		try {
			return await this.run.gateway.models.quick('media');
		} catch (error) {
			if (!(error instanceof GatewayError)) throw error as Error;
			const { message } = error;
			this.run.hints.add(`The requests weren't checked against the model's limits: ${message}.`);
			const isNone = error instanceof NoListError;
			const why = isNone
				? 'The gateway has no list of prices'
				: "The list of prices couldn't be read";
			this.noListing = `${why}: ${message}.`;
			return undefined;
		}
	}

	/** @returns undefined without a list */
	private async lookUp(name: string): Promise<Listed | undefined> {
		this.listing ??= this.load();
		const list = await this.listing;
		if (list === undefined) return undefined;
		const isNew = !this.listed.has(name);
		const found = this.find(list.models, name);
		// A model that a cut list doesn't show may be there all the same.
		const mayAsk = isNew && list.isCut && this.listed.size <= MOST_SUGGESTIONS;
		if (found.record === undefined && mayAsk) {
			found.record = await this.run.gateway.models.quickModel(name);
		}
		return found;
	}

	private find(models: ModelRecord[], name: string): Listed {
		const known = this.listed.get(name);
		if (known !== undefined) return known;
		const record = models.find(({ model }) => model === name);
		const able =
			record === undefined ? models.filter((other) => suits(other, MODE_OF[this.taskType])) : [];
		const names = able.map(({ model }) => model);
		const suggestion = this.listed.size < MOST_SUGGESTIONS ? didYouMean(name, names) : '';
		const found = { record, suggestion };
		this.listed.set(name, found);
		return found;
	}
}

/** The advice for a request that the model list refuses, because the list may be out of date. */
export const SEND_ANYWAY =
	"Nothing was sent. To send it anyway, turn off 'Check Limits Before Sending' in the options.";

/** A request as the result of no check. */
export const unchecked = <R extends ImageRequest>(request: R): Checked<R> => ({
	request,
	violations: [],
	requested: exactly(countImages(parametersOf(request))),
});

/** The fields of a request, by the names under which they are sent. */
function parametersOf({ modelParameters, fields = {}, extraFields }: ImageRequest): JsonObject {
	const all = { ...modelParameters, ...withoutUndefined(fields), ...extraFields };
	// A field that is null is left out of the request.
	return Object.fromEntries(Object.entries(all).filter(([, one]) => one !== null));
}

const exactly = (count: ImageCount): number | undefined =>
	'images' in count && !count.isLimit ? count.images : undefined;

/** The estimated cost of a request for a listed model. */
function estimateOf({ billing }: ModelRecord, count: ImageCount): Estimate {
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
	return { noEstimate: 'The model list has no fixed price for each image or request.' };
}

/** The most names of a run that get suggestions: thousands of items may have different ones. */
const MOST_SUGGESTIONS = 100;

/** The longest model name, in characters. */
const LONGEST_NAME = 200;
