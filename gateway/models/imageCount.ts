import { isJsonObject, numberOf, type JsonObject } from '../../util/json';
import type { AllowedValue } from './models';

/** The number of images that a request is for, or the parameters that leave it open. */
export type ImageCount =
	/** `isLimit`: the gateway may create fewer. */
	{ images: number; isLimit: boolean } | { unclear: string[] };

/** The protocol's own parameter, which every model has (docs/protocol.md, "Endpoints"). */
const OWN = 'n';

/** Names that alone say how many: of images, as that is what is requested. */
const ALONE = /^(n|num|number|count|quantity|batch|images|outputs|samples|variations|candidates)$/;
/** The words of longer names: one that counts, one for what is counted, and any of the others. */
const COUNTING = /^(n|num|number|counts?|max|maximum|total|amount|quantity|batch)$/;
const COUNTED =
	/^(image|img|picture|photo|output|sample|result|variation|variant|candidate|generation|iter)s?$/;
const OTHERS = /^(of|to|per|the|size|prompt|request|call|generated?|requested|final)$/;

/** In characters: the part of a name that is read. */
const LONGEST_NAME = 100;
/** The most levels of parameters that are read. */
const MOST_LEVELS = 5;

/** The words of a parameter's name, in lower case: `num_images`, `num-images` and `numImages`. */
const wordsIn = (name: string): string[] =>
	name
		.slice(0, LONGEST_NAME)
		.replace(/([a-z])([A-Z])/g, '$1 $2')
		.toLowerCase()
		.split(/[^a-z0-9]+/)
		.filter((word) => word !== '');

/** Whether a parameter counts images by its name, such as `num_images`, `batch_size`, `maxImages`. */
export function countsImages(name: string): boolean {
	const words = wordsIn(name);
	if (words.length < 2) return ALONE.test(words[0] ?? '');
	const isListed = (word: string): boolean =>
		[COUNTING, COUNTED, OTHERS].some((list) => list.test(word));
	if (!words.every(isListed)) return false;
	// Neither `max_size` nor `image_size` is a number of images.
	if (words.includes('batch')) return true;
	if (words.includes('size')) return false;
	const nouns = words.filter((word) => COUNTED.test(word));
	// A limit has the plural: `max_image` may be a size.
	const isCounted = (word: string): boolean => !limits(words) || word.endsWith('s');
	return words.some((word) => COUNTING.test(word)) && nouns.some(isCounted);
}

const limits = (words: string[]): boolean => words.some((word) => /^max(imum)?$/.test(word));

/** A parameter that counts images: a whole number from 1; undefined if that isn't clear. */
interface Counter {
	name: string;
	images: number | undefined;
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
	const counters = [...names].filter(countsImages).map((name): Counter => {
		const isPublished = Object.hasOwn(published, name);
		const allowed = isPublished ? (published[name] ?? []) : name === OWN ? [] : undefined;
		return { name, images: imagesOf(parameters[name], allowed) };
	});
	const nested = Object.values(parameters).flatMap((value) => countersInside(value));
	const above = [...counters, ...nested].filter(({ images }) => images !== 1);
	const [only] = above;
	if (only === undefined) return { images: 1, isLimit: false };
	if (above.length > 1 || only.images === undefined) {
		return { unclear: above.map(({ name }) => name) };
	}
	return { images: only.images, isLimit: limits(wordsIn(only.name)) };
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

/** Counters inside an object: the list of models publishes none there. */
function countersInside(value: unknown, levels = MOST_LEVELS): Counter[] {
	if (!isJsonObject(value) || levels === 0) return [];
	return Object.entries(value).flatMap(([name, part]) => [
		...(countsImages(name) ? [{ name, images: imagesOf(part, undefined) }] : []),
		...countersInside(part, levels - 1),
	]);
}
