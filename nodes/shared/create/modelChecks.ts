import { checkRequest, inWords, withPublishedTypes } from '../../../gateway/validation/modelLimits';
import { estimateCost } from '../../../gateway/validation/pricing';
import { makesVideos, suits, type ModelRecord } from '../../../gateway/protocol/models';
import type {
	EditRequest,
	GenerationRequest,
	TaskType,
} from '../../../gateway/protocol/requestPlan';
import { didYouMean } from '../../../gateway/validation/closestMatch';
import { GatewayError, UnknownOutcomeError, withDetails } from '../../../gateway/util/gatewayError';
import { requestModels, ListingError } from '../methods/modelCache';
import type { Run } from '../run/runContext';

/** What a node asks for one item: a generation, or an edit with its files. */
export type ImageRequest = GenerationRequest & Partial<Pick<EditRequest, 'files'>>;

/** A request after it was held against what the gateway publishes of its model. */
export interface Checked<R extends ImageRequest> {
	/** The same request with the types that the model publishes. */
	request: R;
	/** What the model does not take, one sentence each. */
	violations: string[];
	/** Undefined where no fixed price is published. */
	estimatedCost?: number;
}

/** Holds requests against the listing, which is asked for once in a run. */
export interface Checker {
	check<R extends ImageRequest>(request: R, asynchronous: boolean): Promise<Checked<R>>;
	/**
	 * The error of a request, which also names the nearest models where the gateway refused it and
	 * does not publish its model.
	 */
	explain(error: unknown, model: string): Promise<unknown>;
	/** What could not be checked, as sentences for the user. */
	readonly hints: Set<string>;
}

/**
 * @see Checker
 * The run never depends on the listing: where it cannot be had, or does not name the model, the
 * request goes out as it is, with a hint.
 */
export function createChecker(run: Run, taskType: TaskType): Checker {
	const hints = new Set<string>();
	let models: Promise<ModelRecord[] | undefined> | undefined;

	const load = async (): Promise<ModelRecord[] | undefined> =>
		await requestModels(run).catch(async (error: unknown) => {
			if (!(error instanceof ListingError)) return await Promise.reject(error);
			hints.add(`The requests weren't checked against the model's limits: ${error.message}.`);
			return undefined;
		});

	/** Those that can do what is asked for. */
	const namesIn = (published: ModelRecord[]): string[] =>
		published
			.filter((record) => suits(record, taskType === 'edit' ? 'image_edit' : 'text_to_image'))
			.map(({ model }) => model);

	/** The names of the models that can do it, where the listing was had and lacks this one. */
	const others = async (model: string): Promise<string[] | undefined> => {
		const published = await models?.catch(() => undefined);
		if (published === undefined || published.some((record) => record.model === model)) {
			return undefined;
		}
		return namesIn(published);
	};

	return {
		hints,
		explain: async (error, model) => {
			if (!(error instanceof GatewayError) || error instanceof UnknownOutcomeError) return error;
			const { httpCode, description } = error.problem;
			const isRefused = httpCode === 400 || httpCode === 404 || httpCode === 422;
			if (!isRefused) return error;
			const names = await others(model);
			if (names === undefined) return error;
			const question = didYouMean(model, names);
			const advice = [`The gateway doesn't list the model '${model.slice(0, 100)}'.`, question];
			return withDetails(error, {
				description: [...advice, description].filter((text) => text !== '').join(' '),
			});
		},
		check: async (request, asynchronous) => {
			models ??= load();
			const published = await models;
			const record = published?.find(({ model }) => model === request.model);
			const named = record ?? published?.find(({ model }) => isSameName(model, request.model));
			if (named !== undefined && makesVideos(named)) {
				throw new GatewayError({
					message: `The model '${named.model}' generates videos, and the gateway has no endpoint for videos`,
					description: 'Choose an image model from the list. Nothing was sent for this item.',
				});
			}
			if (record === undefined) {
				if (published !== undefined) {
					const question = didYouMean(request.model, namesIn(published));
					hints.add(
						`The gateway doesn't list the model '${request.model}', so the request wasn't checked before sending. ${question}`.trim(),
					);
				}
				return { request, violations: [] };
			}
			const given = request.modelParameters ?? {};
			const modelParameters = withPublishedTypes(record, given);
			const isSame = Object.keys(given).every((name) => modelParameters[name] === given[name]);
			// What is not set in the options does not hide what the form of the model holds.
			const n = request.n ?? modelParameters.n;
			const parameters = { ...modelParameters, n, ...request.extraFields };
			const images = request.files?.filter(({ name }) => name === 'image' || name === 'image[]');
			const violations = checkRequest(record, { taskType, asynchronous, parameters, images });
			const count = Number(parameters.n ?? 1);
			return {
				// The very same where nothing changes.
				request: isSame ? request : { ...request, modelParameters },
				violations: violations.map(inWords),
				estimatedCost: estimateCost(record.billing, count >= 1 && count < Infinity ? count : 1),
			};
		},
	};
}

/** Whether two names are one but for case, blanks, hyphens and underscores. */
const isSameName = (one: string, other: string): boolean => plainName(one) === plainName(other);

/** No model has a longer name. */
const LONGEST_NAME = 200;

const plainName = (name: string): string =>
	name
		.slice(0, LONGEST_NAME)
		.normalize('NFKC')
		.toLowerCase()
		.replace(/[\s_-]/g, '');
