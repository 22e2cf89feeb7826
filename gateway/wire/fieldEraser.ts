import { ERASED, type EraseField } from '../../util/keyEraser';
import { isAddress, isId } from '../responses/responseFields';
import { isBelow, parseUrl } from '../protocol/url';

/**
 * Creates the function that removes the key from the fields and headers of a response. It stays in
 * an ID, which is sent back, and in the path of an address below the gateway, which is fetched: a
 * key or a header's value may be a word, and part of both. In the rest of an address, which may be
 * on any host, a value that is a word stays as well.
 *
 * @param home the gateway's address
 * @param withoutKey removes all secrets
 * @param withoutKeyInContent removes those that are no words
 */
export function createFieldEraser(
	home: string,
	withoutKey: (text: string) => string,
	withoutKeyInContent: (text: string) => string,
): EraseField {
	return (text, field) => {
		const erased = withoutKey(text);
		if (erased === text || erased === ERASED) return erased;
		if (!isAddress(field, text)) return isId(field, text) ? text : erased;
		const url = parseUrl(text, `${home}/`);
		const isFetchedWithKey = url !== undefined && isBelow(url.href, home);
		const [, path = '', rest = ''] = /^([^?#]*)(.*)$/s.exec(text) ?? [];
		return (isFetchedWithKey ? path : withoutKeyInContent(path)) + withoutKeyInContent(rest);
	};
}
