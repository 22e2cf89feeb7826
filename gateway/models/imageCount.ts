import { numberOf, type JsonObject } from '../../util/json';
import type { AllowedValue } from './models';

/** The number of images that a request is for, or the parameters that leave it open. */
export type ImageCount =
	/** `isLimit`: the gateway may create fewer. */
	{ images: number; isLimit: boolean } | { unclear: string[] };

/** The protocol's own parameter, which every model has (docs/protocol.md, "Endpoints"). */
const OWN = 'n';

/** Names of parameters that count images, in lower case and without separators. */
const COUNTING = [
	/^(n|num|number|count|quantity|batch|images|pictures|outputs|samples|variations|variants|candidates|generations)$/,
	/^(n|num|number|total)(of)?(output)?(image|img|picture|output|sample|result|variation|variant|candidate|generation|iter)s?(perprompt)?$/,
	// A limit has the plural: `max_image` may be a size.
	/^max(imum)?(num|number)?(of)?(images|pictures|outputs|samples|results|variations|variants|candidates|generations)(perprompt)?$/,
	/^batch(size|count)$/,
	/^(output)?(image|img|picture|output|sample|result|variation|variant|candidate|generation)s?(count|num|number)$/,
];

/** In characters: the part of a name that is read. */
const LONGEST_NAME = 100;

/** Whether a parameter counts images by its name, such as `num_images`, `batch_size`, `maxImages`. */
export function countsImages(name: string): boolean {
	const word = name
		.slice(0, LONGEST_NAME)
		.replace(/[^a-z\d]/gi, '')
		.toLowerCase();
	return COUNTING.some((pattern) => pattern.test(word));
}

/**
 * The number of images that a request is for: its `n`, and every published parameter whose name
 * counts images. Unclear where several of them ask for more than one image, as nobody says whether
 * they multiply, and where the model doesn't publish a parameter that asks for more.
 *
 * @param parameters the fields of the request, by the names under which they are sent
 * @param published the parameters of the model, if they are known
 */
export function countImages(
	parameters: JsonObject,
	published: Record<string, AllowedValue[]> = {},
): ImageCount {
	const names = new Set([OWN, ...Object.keys(published), ...Object.keys(parameters)]);
	const above = [...names].filter(countsImages).flatMap((name) => {
		const { [name]: allowed = name === OWN ? [] : undefined } = published;
		const images = imagesOf(parameters[name], allowed);
		return images === 1 ? [] : { name, images };
	});
	const [only] = above;
	if (only === undefined) return { images: 1, isLimit: false };
	if (above.length > 1 || only.images === undefined) {
		return { unclear: above.map(({ name }) => name) };
	}
	return { images: only.images, isLimit: /^max/i.test(only.name) };
}

/**
 * The images that a counting parameter asks for.
 *
 * @param value undefined if it isn't sent, and the model's own number holds
 * @param allowed the published values; undefined if the parameter isn't published, and may be ignored
 */
function imagesOf(value: unknown, allowed: AllowedValue[] | undefined): number | undefined {
	const counts = (allowed ?? []).map(wholeNumber);
	const hasCounts = counts.some((count) => count !== undefined);
	// A list of other values, such as the names of samplers, counts nothing.
	if (counts.length > 0 && !hasCounts) return 1;
	if (value === undefined) {
		if (!hasCounts || counts.includes(1)) return 1;
		return counts.length === 1 ? counts[0] : undefined;
	}
	// Nor does a list of source images, or the address of one.
	if (Number.isNaN(numberOf(value)) && !hasCounts) return 1;
	const sent = wholeNumber(value);
	return allowed === undefined && sent !== 1 ? undefined : sent;
}

function wholeNumber(value: unknown): number | undefined {
	const number = numberOf(value);
	return Number.isSafeInteger(number) && number >= 1 ? number : undefined;
}
