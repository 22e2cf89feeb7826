/** Each constant of the rate limiter names the test, or the row of the benchmark, that needs it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..', '..', '..');
const textIn = (folder: string): string =>
	readdirSync(join(root, folder))
		.filter((name) => name.endsWith('.mts'))
		.map((name) => readFileSync(join(root, folder, name), 'utf8'))
		.join('\n');

const tests = textIn('test/unit/client');
const rows = textIn('bench/scenarios');

/** The numbers of a file, with the comment above each. */
const constants = ['sendRate', 'rateLimiter', 'circuitBreaker'].flatMap((name) => {
	const text = readFileSync(join(root, 'gateway', 'client', `${name}.ts`), 'utf8');
	const found = text.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\n(?:export )?const (\S[^=]*?) = /g);
	return [...found].map(([, comment, constant]): [string, string] => [
		`${constant} (${name})`,
		comment!.replace(/\s*\n \*\s*/g, ' '),
	]);
});

test('they were found', () => {
	expect(constants.length).toBeGreaterThan(15);
});

test.each(constants)('%s', (_, comment) => {
	const cited = [...comment.matchAll(/"([^"]+)"/g)].map(([, title]) => title!);
	expect(cited).not.toEqual([]);
	const [row] = /bench row "([^"]+)"/.exec(comment)?.slice(1) ?? [];
	for (const title of cited) {
		if (title === row) expect(rows).toContain(`name: '${title}'`);
		else expect(tests).toContain(title);
	}
});
