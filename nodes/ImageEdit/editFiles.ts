import type { IExecuteFunctions } from 'n8n-workflow';
import { NodeOperationError } from 'n8n-workflow';
import { isJsonObject, nonEmptyString, type JsonObject } from '../../gateway/util/json';
import type { FormFile, GenerationRequest } from '../../gateway/protocol/requestPlan';
import { downloadImage } from '../shared/transport/download';
import { inRange, readChoice, readOptions, readText } from '../shared/parameters/optionValues';
import { readParameter } from '../shared/parameters/reader';
import type { Run } from '../shared/run/runContext';
import { binaryFrom, uploadFrom } from '../shared/transport/upload';

/**
 * The files that an edit sends, in order: the images, then whatever goes with them.
 *
 * @throws NodeOperationError if one is missing, empty or no image; GatewayError if one cannot be
 *   downloaded
 */
export async function readFiles(run: Run, itemIndex: number): Promise<FormFile[]> {
	const { context } = run;
	const options = readOptions(context, itemIndex);
	const field = options.imageFieldName;
	const part = readChoice(context, 'Image Field Name', field, ['image', 'image[]'], itemIndex);
	const chosen = readParameter(context, 'imageSource', itemIndex, 'binary');
	const source = readChoice(context, 'Image Source', chosen, ['binary', 'url'], itemIndex);
	const images =
		source === 'url'
			? await filesFromUrls(run, part, itemIndex)
			: await filesFromFields(context, part, itemIndex);
	return [...images, ...(await additionalFiles(context, options.extraFiles, itemIndex))];
}

/**
 * The form has a field for the image: a second one of its name, with a text in it, would be taken for
 * the image or be lost, and the edit paid for.
 *
 * @throws NodeOperationError that names the parameter
 */
export function refuseImageAsText(
	context: IExecuteFunctions,
	{ modelParameters = {} }: GenerationRequest,
	itemIndex: number,
): void {
	const name = ['image', 'image[]'].find((field) => Object.hasOwn(modelParameters, field));
	if (name === undefined) return;
	throw new NodeOperationError(
		context.getNode(),
		`A parameter must not be called '${name}': the image to edit has this name`,
		{ description: "Use 'Image Source'. Nothing was sent for this item.", itemIndex },
	);
}

async function filesFromFields(
	context: IExecuteFunctions,
	part: string,
	itemIndex: number,
): Promise<FormFile[]> {
	const name = 'Input Binary Field';
	const files = filesNamedBy(readParameter(context, 'imageBinaryProperty', itemIndex, ''));
	// Nothing but commas, as an expression may leave them.
	if (files.length === 0) {
		throw new NodeOperationError(context.getNode(), `'${name}' is empty`, {
			description:
				'Enter the name of the input binary field that contains the image, usually "data".',
			itemIndex,
		});
	}
	return await Promise.all(
		files
			.map((file) => ({ file, binary: binaryFrom(context, file, itemIndex) }))
			.map(
				async ({ file, binary }) =>
					await uploadFrom(
						context,
						binary,
						{ part, label: labelOf(file, name), imageOnly: true },
						itemIndex,
					),
			),
	);
}

/**
 * What a parameter names: fields separated by commas, or the binary data itself, as an expression
 * gives it; also several of them as a list.
 */
function filesNamedBy(value: unknown): Array<string | JsonObject> {
	const given: unknown[] = Array.isArray(value) ? value : [value];
	return given.flatMap((entry): Array<string | JsonObject> => {
		const file = fileNamedBy(entry);
		if (file === undefined) return [];
		if (typeof file !== 'string') return [file];
		const fields = file.split(',').map((field) => field.trim());
		return fields.filter((field) => field !== '');
	});
}

function fileNamedBy(value: unknown): string | JsonObject | undefined {
	if (isJsonObject(value)) return value;
	return typeof value === 'number' ? String(value) : nonEmptyString(value)?.trim();
}

const labelOf = (file: string | JsonObject, parameter: string): string =>
	typeof file === 'string' ? `The binary field "${file}"` : `The file in '${parameter}'`;

async function filesFromUrls(run: Run, part: string, itemIndex: number): Promise<FormFile[]> {
	const { context } = run;
	const advice = 'Enter the web address of the image to edit.';
	const given = readParameter(context, 'imageUrl', itemIndex, '');
	const listed: unknown[] = Array.isArray(given) ? given : [];
	const lines = listed.flatMap((url) => nonEmptyString(url) ?? []);
	const typed =
		lines.length > 0 && lines.length === listed.length
			? lines.join('\n')
			: readText(context, 'imageUrl', 'Image URL', itemIndex, advice);
	const urls = typed.split(/\s+/).filter((url) => url !== '');
	const maxMb = inRange(
		context,
		'maxDownloadMb',
		readOptions(context, itemIndex).maxDownloadMb,
		itemIndex,
	);
	if (!urls.every((url) => /^(https?:\/\/|data:image\/)/i.test(url))) {
		throw new NodeOperationError(context.getNode(), "'Image URL' is not a web address", {
			description: 'It must begin with https:// or http://. Nothing was sent.',
			itemIndex,
		});
	}
	return await Promise.all(
		urls.map(async (url) => {
			const binary = await downloadImage(run, url, maxMb, { fallback: 'image' }, 'source');
			return await uploadFrom(
				context,
				binary,
				{ part, label: "The image at 'Image URL'", imageOnly: true },
				itemIndex,
			);
		}),
	);
}

async function additionalFiles(
	context: IExecuteFunctions,
	option: unknown,
	itemIndex: number,
): Promise<FormFile[]> {
	const entries = isJsonObject(option) && Array.isArray(option.file) ? option.file : [];
	return await Promise.all(
		entries.filter(isJsonObject).map(async (entry) => {
			const part = nonEmptyString(entry.field);
			const file = fileNamedBy(entry.binaryProperty);
			if (part === undefined || file === undefined) {
				throw new NodeOperationError(
					context.getNode(),
					"One of the 'Additional Files' has no form field name or no binary field name",
					{ itemIndex },
				);
			}
			return await uploadFrom(
				context,
				binaryFrom(context, file, itemIndex),
				{ part: part.trim(), label: labelOf(file, 'Additional Files'), imageOnly: false },
				itemIndex,
			);
		}),
	);
}
