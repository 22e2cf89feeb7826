import {
	GatewayError,
	hasCode,
	withDetails,
	type ImageRequest,
	type TaskType,
} from '../../../gateway';
import {
	type Checked,
	checkModel,
	MODE_OF,
	type ModelList,
	type ModelRecord,
	suits,
	unchecked,
} from '../../../gateway/models';
import { didYouMean } from '../../../util/closestMatch';
import type { Run } from '../run/runContext';

/** The result of looking up a model name in the model list. */
interface Listed {
	record?: ModelRecord;
	/** The record that the gateway is asked for, if its list is cut, or has no prices. */
	asked?: Promise<ModelRecord | undefined>;
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

	/** @param needsPrices whether no request is sent without a price: then the list is worth several attempts */
	constructor(
		private readonly run: Run,
		private readonly taskType: TaskType,
		private readonly needsPrices: boolean,
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

	async check<R extends ImageRequest>(request: R, asynchronous: boolean): Promise<Checked<R>> {
		const { model } = request;
		const listed = await this.lookUp(model);
		if (listed === undefined) return { ...unchecked(request), noEstimate: this.noListing };
		const { record, suggestion } = listed;
		if (record === undefined) {
			this.run.hints.add(
				`The gateway doesn't list the model '${model.slice(0, LONGEST_NAME)}', so the request wasn't checked before sending. ${suggestion}`.trim(),
			);
			return { ...unchecked(request), noEstimate: this.noListing };
		}
		const { currency } = record.billing ?? {};
		if (currency !== undefined) this.run.currencies.add(currency);
		const { modelParameters = {}, extraFields = {} } = request;
		this.hintMisspelled(record, [...Object.keys(modelParameters), ...Object.keys(extraFields)]);
		return checkModel(record, request, { taskType: this.taskType, asynchronous });
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

	/**
	 * The error of a rejected request, with the parameters that the gateway names, or with similar model
	 * names if its model isn't listed.
	 */
	async explain(error: unknown, { model, modelParameters = {} }: ImageRequest): Promise<unknown> {
		if (!(error instanceof GatewayError) || hasCode(error, 'outcomeUnknown')) return error;
		const { httpCode = 0, message, description } = error.problem;
		if (![400, 404, 422].includes(httpCode)) return error;
		const told = (advice: string[]): GatewayError =>
			withDetails(error, {
				description: [...advice, description].filter((text) => text !== '').join(' '),
			});
		const words = new Set(message.split(/[^\w-]+/));
		const named = Object.keys(modelParameters)
			.filter((name) => words.has(name))
			.map((name) => `'${name}'`);
		if (named.length > 0)
			return told([`Change or remove ${named.join(' and ')} in 'Model Parameters'.`]);
		const { models } = (await this.listing?.catch(() => undefined)) ?? {};
		if (models === undefined) return error;
		const { record, suggestion } = this.find(models, model);
		if (record !== undefined) return error;
		return told([`The gateway doesn't list the model '${model.slice(0, 100)}'.`, suggestion]);
	}

	private async load(): Promise<ModelList | undefined> {
		try {
			const { models } = this.run.gateway;
			return await (this.needsPrices ? models.readWithRetries('media') : models.readOnce('media'));
		} catch (error) {
			if (!(error instanceof GatewayError)) throw error as Error;
			const { message } = error;
			this.run.hints.add(`The requests weren't checked against the model's limits: ${message}.`);
			const isNone = hasCode(error, 'noList');
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
		if (isNew) {
			const { models } = this.run.gateway;
			const { record } = found;
			// A model that a cut list doesn't show may be there all the same.
			const mayBeCut = list.isCut && this.listed.size <= MOST_SUGGESTIONS;
			const cut = mayBeCut ? models.readModelOnce(name) : undefined;
			found.asked = record ? models.withPrice(record, this.needsPrices) : cut;
		}
		// The other items with this model wait for the same answer.
		found.record = (await found.asked) ?? found.record;
		return found;
	}

	private find(models: ModelRecord[], name: string): Listed {
		const earlier = this.listed.get(name);
		if (earlier !== undefined) return earlier;
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

/** The most names of a run that get suggestions: thousands of items may have different ones. */
const MOST_SUGGESTIONS = 100;

/** The longest model name, in characters. */
const LONGEST_NAME = 200;
