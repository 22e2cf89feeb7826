import { isJsonObject, type JsonObject } from '../../util/json';
import { imageUrl } from './imageAddress';
import { LONGEST_ADDRESS } from '../protocol/url';

/** An address or an image in Base64 that stands somewhere in a response. */
interface Found {
	url: string;
	/** The names of the fields that lead to it; the entries of a list have the same one. */
	place: string;
}

/** More addresses than a response can mean. */
const MOST_FOUND = 20;
/** The deepest level of a response that is searched. */
const DEEPEST = 20;

/** Names of objects and lists that aren't about the result, in words. */
const NO_RESULT =
	/^(_?links|inputs?|sources?|request|params|parameters|webhooks?|errors?)$|preview|partial|progress|thumb/;

/** Names of addresses that aren't the result: previews, the source of an edit, and the task. */
const NO_IMAGE =
	/(^|_)(previews?|partial|progress|thumb(nail)?s?|input|source|init|reference|mask|prompt|webhook|callback|poll|polling|status|query|task|cancel)(_|$)|^original_/;

/** Names of the address of a result that is no image itself, unless it ends like one. */
const RESULT_ADDRESS = /^(response|result)_url$/;
const IMAGE_FILE = /\.(png|jpe?g|webp|gif|avif|svg)([?#]|$)/i;

/** What the names that lead to an image say, where its address doesn't end like one. */
const IMAGE_NAME =
	/imag|img|pict|photo|sample|generated|asset|media|output|result|artifact|download/;

/** In characters: an image that stands inside beside an address is a placeholder if it isn't longer. */
const LONGEST_PLACEHOLDER = 8000;

/** A name in words: `sampleUrl` is `sample_url`. */
const inWords = (name: string): string =>
	name
		.slice(0, 100)
		.replace(/([a-z\d])([A-Z])/g, '$1_$2')
		.replace(/[-. ]/g, '_')
		.toLowerCase();

/** Everything in a response that may be an image of its result, in any field. */
function foundIn(body: unknown): Found[] {
	const found = new Map<string, string>();
	const search = (value: unknown, name: string, place: string, depth: number): void => {
		if (depth > DEEPEST || found.size >= MOST_FOUND) return;
		if (typeof value === 'string') {
			const url = isImageName(name, value) ? imageUrl(value, 'alone') : undefined;
			if (url !== undefined && isAddress(url) && !found.has(url)) found.set(url, place);
		} else if (Array.isArray(value)) {
			for (const entry of value) search(entry, name, place, depth + 1);
		} else if (isJsonObject(value)) {
			for (const [field, inner] of Object.entries(value)) {
				const words = inWords(field);
				const isOther = typeof inner === 'object' && NO_RESULT.test(words);
				const isOfTask = words === 'urls' && isJsonObject(inner);
				if (!isOther && !isOfTask) search(inner, words, `${place}.${words}`, depth + 1);
			}
		}
	};
	search(body, '', '', 0);
	return [...found].map(([url, place]) => ({ url, place }));
}

const isImageName = (name: string, value: string): boolean =>
	!NO_IMAGE.test(name) &&
	(!RESULT_ADDRESS.test(name) || IMAGE_FILE.test(value.slice(0, LONGEST_ADDRESS)));

/** Whether what stands alone in a text is an image inside it, or an address of the web. */
const isAddress = (url: string): boolean =>
	url.startsWith('data:') || (url.length <= LONGEST_ADDRESS && /^https?:\/\/\S+$/i.test(url));

const isInside = ({ url }: Found): boolean => url.startsWith('data:');

const saysImage = (one: Found): boolean =>
	!isInside(one) && (IMAGE_NAME.test(one.place) || IMAGE_FILE.test(one.url));

/**
 * The images of a finished response whose places nobody knows: the only address that says it is an
 * image, or several in the same place; else those inside it, by their first bytes.
 *
 * @param isOwn whether an address is the task's, or the request has sent it
 */
export function imagesAnywhere(body: JsonObject, isOwn: (url: string) => boolean): string[] {
	const found = foundIn(body).filter(({ url }) => !isOwn(url));
	const inside = found.filter(isInside);
	const addresses = found.filter(saysImage);
	const [first] = addresses;
	const isOnePlace = first !== undefined && addresses.every(({ place }) => place === first.place);
	const isPlaceholder = ({ url }: Found): boolean => url.length <= LONGEST_PLACEHOLDER;
	if (inside.length > 0 && !(isOnePlace && inside.every(isPlaceholder))) return urlsOf(inside);
	return isOnePlace ? urlsOf(addresses) : [];
}

const urlsOf = (found: Found[]): string[] => found.map(({ url }) => url);

/** The addresses in a response that may be those of images. */
export const addressesIn = (body: JsonObject): string[] =>
	urlsOf(foundIn(body).filter((one) => !isInside(one)));

/** Whether there is an address in an object that says it is an image. */
export const hasImageAddress = (value: unknown): boolean =>
	isJsonObject(value) && foundIn(value).some(saysImage);
