/** No pattern of the package takes more than linear time: on foreign text, one that did stops n8n. */
import { parseSync } from '@swc/core';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
// Its program where npm has one for the platform, otherwise the same in JavaScript, ten times as slow.
import { checkSync } from 'recheck';

const ROOT = join(__dirname, '../../..');
const LONG_MS = 120_000;

/** A small search: it finds every kind of slow pattern that a large one does, and takes a second. */
const SEARCH = {
	// The time is no measure of the pattern, only of the machine.
	timeout: LONG_MS,
	incubationTimeout: LONG_MS,
	attackTimeout: LONG_MS,
	// Chance must not change a verdict.
	randomSeed: 1,
	maxNFASize: 1000,
	maxIteration: 2,
	incubationLimit: 5000,
	maxInitialGenerationSize: 50,
	maxGenerationSize: 20,
	mutationSize: 5,
	crossoverSize: 5,
};

const sources = ['gateway', 'nodes', 'credentials', 'util']
	.flatMap((folder) =>
		readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
			join(ROOT, folder, name),
		),
	)
	.filter((file) => file.endsWith('.ts'))
	.map((file) => readFileSync(file, 'utf8'));

/** The patterns below a node of a source's tree, each once, with their flags. */
function patternsIn(node: object, found = new Map<string, [pattern: string, flags: string]>()) {
	if ('type' in node && node.type === 'RegExpLiteral') {
		const { pattern, flags } = node as { type: unknown } & { pattern: string; flags: string };
		found.set(`/${pattern}/${flags}`, [pattern, flags]);
	}
	for (const part of Object.values(node)) {
		if (typeof part === 'object' && part !== null) patternsIn(part as object, found);
	}
	return found;
}

/**
 * Whether a pattern may be slow. What repeats nothing without end is not, and what has to begin where
 * the text begins is not either if it repeats only one character, once.
 */
function mayBeSlow(pattern: string, flags: string): boolean {
	const bare = pattern.replace(/\\.|\[(?:\\.|[^\]\\])*\]/g, '.');
	const repeats = bare.match(/\)?(?:[*+]|\{\d+,\}|(?<=\))\{)/g) ?? [];
	const isBound = /^\^[^|]*$/.test(bare) && !flags.includes('m');
	const isOneCharacter = repeats.length === 1 && !repeats[0].startsWith(')');
	return repeats.length > 0 && !(isBound && isOneCharacter);
}

const trees = sources
	.filter((text) => text.includes('/'))
	.map((text) => parseSync(text, { syntax: 'typescript', decorators: true }));
const patterns = [...patternsIn(trees)];

test('there are patterns, and none is put together while the package runs', () => {
	expect(patterns.length).toBeGreaterThan(100);
	expect(sources.filter((text) => /\bRegExp\(/.test(text))).toEqual([]);
});

test.each(patterns.filter(([, [pattern, flags]]) => mayBeSlow(pattern, flags)))(
	'%s takes linear time',
	(_, [pattern, flags]) => {
		const result = checkSync(pattern, flags, SEARCH);
		const attack = result.status === 'vulnerable' ? result.attack.pattern : '';
		expect([result.status, attack]).toEqual(['safe', '']);
	},
	LONG_MS,
);
