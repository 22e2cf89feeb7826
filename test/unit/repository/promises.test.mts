/**
 * Sentences that leave no exception, in README and on the page of charges: each names the test that goes red
 * where it isn't so. One without a test is to be written as what is so.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const ABSOLUTE = /\b(never|always|only|nothing|all)\b/i;

/** Names that contain such a word. */
const NAMES = /Submit Only|Never pay twice|never-pay-twice/g;

/** The sentences of a page, a cell of a table or the entry of a list apart, without code, markup and names. */
function sentencesOf(page: string): string[] {
	const prose = read(page)
		.replace(/^```[^]*?^```/gm, '')
		.replace(/<!--[^]*?-->/g, '')
		.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
		.replace(/[*`]/g, '')
		.replace(NAMES, '…');
	return prose
		.split(/\n+|\|/)
		.flatMap((line) => line.split(/(?<=[.!?:])\s+/))
		.map((sentence) => sentence.replace(/^[-#\d.\s]+/, '').trim());
}

const BUDGET = 'test/engine/money/budget.test.mts';
const CHECKS = 'test/engine/models/model-checks.test.mts';
const FAULTS = 'test/engine/faults/faults.test.mts';
const FITS = 'test/engine/gateways/fits.test.mts';
const MESSAGES = 'test/engine/messages/message.test.mts';
const POLICY = 'test/unit/pace/retry-policy.test.mts';
const RETRIES = 'test/engine/money/retries.test.mts';
const SUMMARY = 'test/engine/run/summary.test.mts';

const NOT_ACCEPTED = 'a paid request is sent again only where it was certainly not accepted';

/** By page, the beginning of a sentence, and the test with the beginning of its name. */
const PROMISES: Record<string, Array<[sentence: string, file: string, test: string]>> = {
	'README.md': [
		[
			'With Retry On Fail, the Message node sends only',
			MESSAGES,
			'Retry On Fail sends a message of unknown outcome again, and no other',
		],
		['What is never paid twice', POLICY, NOT_ACCEPTED],
		['Without a key, only Retry sends', RETRIES, "'image, no response',    'Retry',"],
		['This request names no model, so it generates nothing', FITS, 'costs nothing'],
	],
	'docs/errors-and-charges.md': [
		['it costs nothing', FAULTS, 'errors name what was paid for, and neither key nor nothing'],
		['Get it by its ID with Image Wait', FAULTS, 'errors name what was paid for'],
		['By itself, a node never sends an image request again', POLICY, NOT_ACCEPTED],
		[
			'A key that has never worked in the run',
			'test/engine/money/refused-key.test.mts',
			'51 submits',
		],
		[
			'Parameters, files and limits of all items',
			CHECKS,
			'no paid request, not with Retry On Fail',
		],
		['Dry Run sends nothing', SUMMARY, 'a dry run has done nothing, and says what would be done'],
		['If that is more, nothing is sent', BUDGET, 'a batch that exceeds it is refused as a whole'],
	],
};

describe.each(Object.entries(PROMISES))('%s', (page, promises) => {
	const absolute = sentencesOf(page).filter((sentence) => ABSOLUTE.test(sentence));

	test('has no sentence without exception that no test holds', () => {
		const held = (sentence: string) => promises.some(([start]) => sentence.startsWith(start));
		expect(absolute.filter((sentence) => !held(sentence))).toEqual([]);
	});

	test.each(promises)('“%s …” is held by a test', (start, file, name) => {
		expect(absolute.filter((sentence) => sentence.startsWith(start))).toHaveLength(1);
		expect(existsSync(join(root, file)) && read(file)).toContain(name);
	});
});
