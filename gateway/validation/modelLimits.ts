import type { JsonObject } from '../util/json';
import { MB } from '../util/megabyte';
import type { ModelRecord, ReferenceLimits } from '../protocol/models';
import { suits } from '../protocol/models';
import type { FormFile, TaskType } from '../protocol/requestPlan';

/** The facts of a request that are checked against a model's record. */
export interface CheckedRequest {
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

/** One value that the model doesn't accept, as texts. */
export interface Violation {
	field: string;
	value: string;
	allowed: string;
}

/**
 * The values of a request that the model doesn't accept (docs/protocol.md, "Model list"). Fields
 * that the gateway doesn't publish aren't checked.
 */
export function checkRequest(record: ModelRecord, request: CheckedRequest): Violation[] {
	return [
		...checkModes(record, request),
		...checkParameters(record, request.parameters),
		...checkImages(record.referenceImages, request),
	];
}

/** A violation in one line. */
export function describeViolation({ field, value, allowed }: Violation): string {
	return `${field} is ${value}; allowed: ${allowed}`;
}

function checkModes(record: ModelRecord, { taskType, asynchronous }: CheckedRequest): Violation[] {
	const violations: Violation[] = [];
	const mode = taskType === 'edit' ? 'image_edit' : 'text_to_image';
	if (!suits(record, mode)) {
		const { modes, mediaType = 'nothing' } = record;
		const offered = modes === undefined || modes.includes(mode) ? [mediaType] : modes;
		violations.push({ field: 'The requested operation', value: mode, allowed: listed(offered) });
	}
	const { generationModes = [] } = record;
	if (generationModes.length > 0 && !generationModes.includes(asynchronous ? 'async' : 'sync')) {
		violations.push({
			field: "'Mode'",
			value: asynchronous ? 'asynchronous' : "'Synchronous'",
			allowed: asynchronous ? "'Synchronous'" : "'Submit and Wait' or 'Submit Only'",
		});
	}
	return violations;
}

function checkParameters(record: ModelRecord, parameters: JsonObject): Violation[] {
	return Object.entries(parameters).flatMap(([name, value]) => {
		const allowed = allowedFor(record, name);
		if (value === undefined || allowed.length === 0) return [];
		if (allowed.some((entry) => String(entry) === String(value))) return [];
		const shown = shortened(JSON.stringify(value) ?? '');
		const field = name === 'n' ? "'Number of Images'" : shortened(name);
		return [{ field, value: shown, allowed: listed(allowed) }];
	});
}

function allowedFor(record: ModelRecord, name: string) {
	return Object.hasOwn(record.parameters, name) ? (record.parameters[name] ?? []) : [];
}

function checkImages(
	limits: ReferenceLimits = {},
	{ images = [], imageCount = images.length }: CheckedRequest,
): Violation[] {
	if (imageCount === 0) return [];
	const { maxCount = Infinity, maxSizeMb = Infinity, formats = [], sourceTypes = [] } = limits;
	const violations: Violation[] = [];
	const check = (isAllowed: boolean, field: string, value: string, allowed: string): void => {
		if (!isAllowed) violations.push({ field, value, allowed });
	};
	const count = String(imageCount);
	check(imageCount <= maxCount, 'The number of images to edit', count, `at most ${maxCount}`);
	const known = formats.map(format);
	for (const { size, mimeType, fileName } of images) {
		const sizeMb = size / MB;
		const isFormat = known.length === 0 || known.includes(format(mimeType));
		check(
			sizeMb <= maxSizeMb,
			`The size of ${fileName}`,
			`${sizeMb.toFixed(2)} MB`,
			`at most ${maxSizeMb} MB`,
		);
		check(isFormat, `The format of ${fileName}`, mimeType, listed(formats));
	}
	// An edit uploads files (docs/protocol.md, "Edit"), which a model that takes only addresses
	// doesn't accept.
	const takesFiles =
		sourceTypes.length === 0 || sourceTypes.some((type) => !/^\s*url\s*$/i.test(type));
	check(takesFiles, 'The source of the image', 'a file', listed(sourceTypes));
	return violations;
}

/** One name for a format that is written as a MIME type or an extension, in any case. */
function format(name: string): string {
	const bare = name
		.trim()
		.toLowerCase()
		.replace(/^image\//, '')
		.replace(/^\./, '');
	return OTHER_NAMES[bare] ?? bare.replace(/\+xml$/, '');
}

const OTHER_NAMES: Record<string, string> = { jpg: 'jpeg', tif: 'tiff' };

/** The most values that an error lists, and the longest. */
const MOST_LISTED = 50;
const LONGEST_VALUE = 100;

function listed(values: Array<string | number | boolean>): string {
	const shown = values.slice(0, MOST_LISTED).map((value) => shortened(String(value)));
	return [...shown, ...(values.length > MOST_LISTED ? ['…'] : [])].join(', ');
}

const shortened = (text: string): string =>
	text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;

/**
 * The parameters with the published types, because a form or expression may have made a text of a
 * number.
 */
export function withPublishedTypes(record: ModelRecord, parameters: JsonObject): JsonObject {
	return Object.fromEntries(
		Object.entries(parameters).map(([name, value]) => [
			name,
			allowedFor(record, name).find((entry) => String(entry) === String(value)) ?? value,
		]),
	);
}
