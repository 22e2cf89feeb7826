import { checkRequest, withPublishedTypes } from '../../../gateway/validation/modelLimits';
import { estimateCost, pricePerImage } from '../../../gateway/validation/pricing';
import { makesVideos, type ModelRecord } from '../../../gateway/protocol/models';
import type { ImageRequest, TaskType } from '../../../gateway/protocol/requestPlan';
import { didYouMean } from '../../../gateway/util/closestMatch';
import { GatewayError } from '../../../gateway/util/gatewayError';
import { withoutUndefined } from '../../../gateway/util/json';
import { requestModels } from './modelCache';
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
}

/**
 * Checks requests against the model list, which is requested once in a run. If there is no list, or
 * the model isn't in it, the request is sent unchecked, with a hint.
 */
export class Checker {
	/** The models, or why there is no list, as a sentence. */
	private listing?: Promise<ModelRecord[] | string>;

	constructor(
		private readonly run: Run,
		private readonly taskType: TaskType,
	) {}

	/**
	 * Whether a model publishes only synchronous requests, in which 'Submit and Wait' then sends them,
	 * with a hint.
	 */
	async isOnlySync(model: string): Promise<boolean> {
		const record = await this.lookUp(model);
		const { generationModes = [] } = typeof record === 'object' ? record : {};
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
		const record = await this.lookUp(model);
		if (typeof record === 'string') {
			this.run.hints.add(record);
			return { request, violations: [], noEstimate: record };
		}
		if (makesVideos(record)) {
			throw new GatewayError({
				message: `The model '${model}' generates videos, and the gateway has no endpoint for videos`,
				description: `Choose an image model from the list. ${SEND_ANYWAY}`,
			});
		}
		const given = request.modelParameters ?? {};
		this.hintMisspelled(record, Object.keys(given));
		const modelParameters = withPublishedTypes(record, given);
		const isSame = Object.keys(given).every((name) => modelParameters[name] === given[name]);
		const fields = withoutUndefined(request.fields ?? {});
		const parameters = { ...modelParameters, ...fields, ...request.extraFields };
		const images = request.files?.filter(({ name }) => name === 'image' || name === 'image[]');
		const { taskType } = this;
		const facts = { taskType, asynchronous, parameters, images };
		return {
			// The same object if nothing has changed.
			request: isSame ? request : { ...request, modelParameters },
			violations: checkRequest(record, facts),
			...estimateOf(record, parameters.n),
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

	private async load(): Promise<ModelRecord[] | string> {
		try {
			return await requestModels(this.run);
		} catch (error) {
			if (!(error instanceof GatewayError)) return await Promise.reject(error);
			return `Without a model list, limits aren't checked and prices are unknown: ${error.message}.`;
		}
	}

	/** @returns the published model, or why there is none, as a sentence */
	private async lookUp(name: string): Promise<ModelRecord | string> {
		this.listing ??= this.load();
		const models = await this.listing;
		if (typeof models === 'string') return models;
		const unlisted = `The gateway doesn't list the model '${name.slice(0, LONGEST_NAME)}', so its limits and price are unknown.`;
		return models.find(({ model }) => model === name) ?? unlisted;
	}
}

/** The advice for a request that the model list refuses, because the list may be out of date. */
export const SEND_ANYWAY =
	"Nothing was sent. To send it anyway, turn off 'Check Limits Before Sending' in the options.";

/** The estimated cost of a request for a listed model. @param n the number of requested images */
function estimateOf({ billing }: ModelRecord, n: unknown): Estimate {
	const count = Number(n ?? 1);
	const estimatedCost = estimateCost(billing, count >= 1 && count < Infinity ? count : 1);
	if (estimatedCost !== undefined) return { estimatedCost, pricePerImage: pricePerImage(billing) };
	return { noEstimate: 'The model list has no fixed price for each image or request.' };
}

/** The longest model name, in characters. */
const LONGEST_NAME = 200;
