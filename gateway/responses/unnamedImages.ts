import { isJsonObject, type JsonObject } from '../../util/json';
import { imageUrl } from './imageAddress';
import { LONGEST_ADDRESS } from '../protocol/url';

/** An address or an image in Base64 that stands somewhere in a response. */
interface Found {
	url: string;
	/** The name of its field, in words; an entry of a list has that of its list. */
	name: string;
	/** The names of the fields that lead to it; the entries of a list have the same one. */
	place: string;
}

/** More addresses than a response can mean. */
const MOST_FOUND = 20;
/** The deepest level of a response that is searched. */
const DEEPEST = 20;

/** Names of objects and lists that aren't about the result, in words. */
const NO_RESULT =
	/^_?links$|(^|_)(inputs?|sources?|requests?|params|parameters|webhooks?|errors?)(_|$)|preview|partial|progress|thumb/;

/** Names of addresses that aren't the result: previews, the source of an edit, and the task. */
const NO_RESULT_NAME =
	/(^|_)(previews?|partial|progress|thumb(nail)?s?|input|source|init|reference|mask|prompt|webhook|callback|poll|polling|status|query|task|cancel)(_|$)|^original_/;

/** Names of pages, and of pictures that are no result, on the way to an address or of it itself. */
const NO_ADDRESS =
	/[._](docs?|documentation|help|support|errors?|terms|polic(y|ies)|privacy|home(page)?|dashboard|profile|users?|authors?|logos?|(fav)?icons?|avatars?|self|annotations?|citations?|grounding)(?=[._]|$)|[._](job|request|get|stream|next|info|learn|html|permalink|more|see|pages?|messages?|details?|description)(_[^.]{0,40})?$/;

/** Names of the address of a result that is no image itself, unless it ends like one. */
const RESULT_ADDRESS = /^(response|result)_url$/;
/** At the end of a query, too. Icons of pages are none. */
const IMAGE_FILE = /\.(png|jpe?g|webp|gif|avif|svg)([?#]|$)/i;

/** What the name of an address says: that it is an image, or that it is any file. */
const IMAGE_NAME =
	/imag|img|pict|photo|sample|generated|asset|media|output|result|artifact|download|render/;
const FILE_NAME = /(^|_)(ur[il]|src|href|link|file|cdn|path|final)s?(_|$)|ur[il]s?$/;

/** Names of a small image that stands inside a response in place of the one at an address. */
const PLACEHOLDER = /lqip|placeholder|[._]blur(hash)?(?=[._]|$)/;

/** A name in words: `sampleUrl` is `sample_url`. */
const inWords = (name: string): string =>
	name
		.slice(0, 100)
		.replace(/([a-z\d])([A-Z])/g, '$1_$2')
		.replace(/[-. ]/g, '_')
		.toLowerCase();

/** Everything in a response that may be an image of its result, in any field. */
function foundIn(body: unknown): Found[] {
	const found = new Map<string, Found>();
	const search = (value: unknown, name: string, place: string, depth: number): void => {
		if (depth > DEEPEST || found.size >= MOST_FOUND) return;
		if (typeof value === 'string') {
			const url = isImageName(name, value) ? imageUrl(value, 'alone') : undefined;
			if (url !== undefined && isAddress(url) && !found.has(url)) {
				found.set(url, { url, name, place });
			}
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
	return [...found.values()];
}

const isImageName = (name: string, value: string): boolean =>
	!NO_RESULT_NAME.test(name) &&
	(!RESULT_ADDRESS.test(name) || IMAGE_FILE.test(value.slice(0, LONGEST_ADDRESS)));

/** Whether what stands alone in a text is an image inside it, or an address of the web. */
const isAddress = (url: string): boolean =>
	url.startsWith('data:') || (url.length <= LONGEST_ADDRESS && /^https?:\/\/\S+$/i.test(url));

const isInside = ({ url }: Found): boolean => url.startsWith('data:');

const isAway = (one: Found): boolean => !isInside(one) && !NO_ADDRESS.test(one.place);

const isFile = ({ url }: Found): boolean => IMAGE_FILE.test(url);
const saysFile = ({ name }: Found): boolean => FILE_NAME.test(name);
/** The file in an object that is called an image is one; a page there isn't. */
const saysImage = (one: Found): boolean =>
	isFile(one) || IMAGE_NAME.test(saysFile(one) ? one.place : one.name);

/**
 * The images of a finished response that aren't where images usually are: those inside it, by their
 * first bytes; else the only address that says it is an image, or several in the same place.
 *
 * @param isOwn whether an address is the task's, or the request has sent it
 * @param places where its addresses must be, if it has places for images
 */
export function imagesAnywhere(
	body: JsonObject,
	isOwn: (url: string) => boolean,
	places?: unknown[],
): string[] {
	const found = foundIn(body).filter(({ url }) => !isOwn(url));
	const inside = found.filter((one) => isInside(one) && !PLACEHOLDER.test(one.place));
	if (inside.length > 0) return urlsOf(inside);
	const addresses = foundIn(places ?? body).filter((one) => isAway(one) && !isOwn(one.url));
	// Among others, the source of an edit may end like an image too.
	const surest = places === undefined ? [] : addresses.filter(isFile);
	const groups = [surest, addresses.filter(saysImage), addresses.filter(saysFile)];
	const [first, ...others] = groups.find((group) => group.length > 0) ?? [];
	const isOnePlace = others.every(({ place }) => place === first?.place);
	return isOnePlace ? urlsOf(addresses.filter(({ place }) => place === first?.place)) : [];
}

const urlsOf = (found: Found[]): string[] => found.map(({ url }) => url);

/** The addresses in a response that may be those of images. */
export const addressesIn = (body: JsonObject): string[] =>
	urlsOf(foundIn(body).filter((one) => !isInside(one)));

/** Whether there is an address in an object that says it is an image. */
export const hasImageAddress = (value: unknown): boolean =>
	isJsonObject(value) && foundIn(value).some((one) => isAway(one) && saysImage(one));
