import fc from 'fast-check';

const SURROGATES = [0xd800, 0xdfff] as const;
const COUNT = SURROGATES[1] - SURROGATES[0] + 1;

/**
 * Any character of Unicode, for `fc.string`. Its own unit for them, `binary`, lists all 1.1 million
 * before the first text: a second of processor time.
 */
export const anyCharacter = fc
	.nat(0x10ffff - COUNT)
	.map((nth) => String.fromCodePoint(nth < SURROGATES[0] ? nth : nth + COUNT));
