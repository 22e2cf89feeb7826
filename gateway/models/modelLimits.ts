import { mapValues, numberOf, type JsonObject } from '../../util/json';
import { MB } from '../../util/megabyte';
import { quote } from '../../util/text';
import type { ModelRecord, NumberRange, ReferenceLimits } from './models';
import { makesVideos, MODE_OF, suits } from './models';
import type { FormFile } from '../protocol/requestPlan';
import type { TaskType } from '../protocol/taskType';

/** The facts of a request that are checked against a model's record. */
interface CheckedRequest {
	taskType: TaskType;
	/** Whether the request is for a task. */
	asynchronous: boolean;
	/** The fields of the request, by the names under which they are sent. */
	parameters: JsonObject;
	/** The images to edit. */
	images?: Array<Pick<FormFile, 'size' | 'mimeType' | 'fileName'>>;
	/** The number of images to edit, if they aren't loaded yet. */
	imageCount?: number;
}

/**
 * The values of a request that the model doesn't accept (docs/protocol.md, "Model list"), one line
 * each. Fields that the gateway doesn't publish aren't checked.
 */
export function checkRequest(record: ModelRecord, request: CheckedRequest): string[] {
	return [
		...checkModes(record, request),
		...checkParameters(record, request.parameters),
		...checkImages(record.referenceImages, request),
	];
}

/** The line for a value that isn't accepted. */
const violation = (field: string, value: string, allowed: string): string =>
	`${field} is ${value}; allowed: ${allowed}`;

function checkModes(record: ModelRecord, { taskType, asynchronous }: CheckedRequest): string[] {
	const violations: string[] = [];
	const mode = MODE_OF[taskType];
	const { modes, mediaType = 'nothing', generationModes = [] } = record;
	if (!suits(record, mode)) {
		const isVideo = makesVideos(record);
		const isOther = isVideo || modes === undefined || modes.includes(mode);
		const offered = isOther ? [isVideo ? 'videos' : mediaType] : modes;
		violations.push(violation('The requested operation', mode, listed(offered)));
	}
	if (generationModes.length > 0 && !generationModes.includes(asynchronous ? 'async' : 'sync')) {
		violations.push(
			asynchronous
				? violation('The mode', 'asynchronous', 'synchronous')
				: violation('The mode', 'synchronous', 'asynchronous'),
		);
	}
	return violations;
}

function checkParameters(record: ModelRecord, parameters: JsonObject): string[] {
	return Object.entries(parameters).flatMap(([name, value]) => {
		const allowed = allowedFor(record, name);
		const range = record.ranges?.get(name);
		if (value === undefined || (allowed.length === 0 && range === undefined)) return [];
		if (allowed.some((entry) => String(entry) === String(value))) return [];
		const { min = -Infinity, max = Infinity } = range ?? {};
		if (range !== undefined && numberOf(value) >= min && numberOf(value) <= max) return [];
		const field = name === 'n' ? 'The number of images' : quote(name);
		const accepted = range === undefined ? listed(allowed) : describeRange(range);
		return [violation(field, quote(JSON.stringify(value) ?? ''), accepted)];
	});
}

function allowedFor(record: ModelRecord, name: string) {
	return Object.hasOwn(record.parameters, name) ? (record.parameters[name] ?? []) : [];
}

/** The numbers within bounds, in words. */
function describeRange({ min, max }: NumberRange): string {
	const ends = [min === undefined ? [] : `from ${min}`, max === undefined ? [] : `up to ${max}`];
	return ends.flat().join(' ') || 'any number';
}

function checkImages(
	limits: ReferenceLimits = {},
	{ images = [], imageCount = images.length }: CheckedRequest,
): string[] {
	if (imageCount === 0) return [];
	const { maxCount = Infinity, maxSizeMb = Infinity, formats = [], sourceTypes = [] } = limits;
	const violations: string[] = [];
	if (imageCount > maxCount) {
		const count = String(imageCount);
		violations.push(violation('The number of images to edit', count, `at most ${maxCount}`));
	}
	const accepted = formats.map(format);
	for (const { size, mimeType, fileName } of images) {
		const sizeMb = size / MB;
		if (sizeMb > maxSizeMb) {
			const most = `at most ${maxSizeMb} MB`;
			violations.push(violation(`The size of ${fileName}`, `${sizeMb.toFixed(2)} MB`, most));
		}
		if (accepted.length > 0 && !accepted.includes(format(mimeType))) {
			violations.push(violation(`The format of ${fileName}`, mimeType, listed(formats)));
		}
	}
	// A model that takes only addresses doesn't accept files (docs/protocol.md, "Edit").
	const isAddress = (type: string): boolean => /^\s*url\s*$/i.test(type);
	if (images.length > 0 && sourceTypes.length > 0 && sourceTypes.every(isAddress)) {
		violations.push(violation('The source of the image', 'a file', listed(sourceTypes)));
	}
	return violations;
}

/** One name for a format that is written as a MIME type or an extension, in any case. */
function format(name: string): string {
	const bare = name
		.trim()
		.toLowerCase()
		.replace(/^(image\/|\.)/, '');
	return OTHER_NAMES[bare] ?? bare.replace(/\+xml$/, '');
}

const OTHER_NAMES: Record<string, string> = { jpg: 'jpeg', tif: 'tiff' };

/** Published values for a sentence, shortened. */
const listed = (values: Array<string | number | boolean>): string => quote(values.join(', '));

/**
 * The parameters with the published types, because a form or expression may have made a text of a
 * number.
 */
export function withPublishedTypes(record: ModelRecord, parameters: JsonObject): JsonObject {
	return mapValues(
		parameters,
		(value, name) =>
			allowedFor(record, name).find((entry) => String(entry) === String(value)) ?? value,
	);
}
