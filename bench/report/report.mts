/** Turns measurements into the files that are kept: a page, two charts, three figures in README. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { nodeOfCandidates } from '../server-tree.mjs';
import type { Chart, Line } from './lines.mjs';
import { fillReadme, SUMMARY_CHARTS } from './readme.mjs';
import { drawCharts } from './svg.mjs';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export interface Measured {
	name: string;
	lines: Line[];
	chart?: Chart;
	/** Load of the machine before and after the row. */
	load: [number, number];
}

const HEADER = [
	"| Measure | This package | (a) HTTP Request, Wait, If | (b) axios by hand | (c) Ideal | (d) n8n's helper alone | |",
	'|---|---|---|---|---|---|---|',
];

const KEY =
	'(a) the nodes that people combine in n8n today, on the same engine; (b) a client written by hand ' +
	"with axios and form-data; (c) the theoretical optimum; (d) n8n's HTTP helper, which every node has " +
	'to use, in a minimal node, also with a bound and a deadline for each response. ✓: the goal in ' +
	'`bench/results.json` is reached.';

function tableRow(line: Line): string {
	const { measure, builtIn, byHand, ideal, platform } = line;
	const cells = [measure, line.package, builtIn, byHand, ideal, platform];
	const shown = cells.map((cell) => (cell ?? '').replaceAll('|', '\\|'));
	const missed = line.platformMisses === true ? '✗, as (d)' : '✗';
	return `| ${[...shown, line.reached ? '✓' : missed].join(' | ')} |`;
}

/** How many goals are reached, and how many of the others no node can reach. */
export function tally(lines: readonly Line[]): string {
	const missed = lines.filter(({ reached }) => !reached);
	const outOfReach = missed.filter(({ platformMisses }) => platformMisses === true).length;
	const reached = `${lines.length - missed.length} of ${lines.length} goals reached`;
	if (outOfReach === 0) return `${reached}.`;
	const others = missed.length - outOfReach;
	return (
		`${reached}. No node can reach ${outOfReach} of them, because n8n's HTTP helper alone (d) misses ` +
		`${outOfReach === 1 ? 'it' : 'them'} too: marked “✗, as (d)”. Others missed: ${others}.`
	);
}

export const table = (lines: readonly Line[]): string =>
	[...HEADER, ...lines.map(tableRow)].join('\n');

/** On what it was measured, and how busy that was besides. */
export function machine(): string {
	const [processor] = cpus();
	const load = loadavg()[0]!.toFixed(1);
	const node = execFileSync(nodeOfCandidates(), ['--version'], { encoding: 'utf8' }).trim();
	return (
		`Node.js ${node.slice(1)}, ${process.platform}, ${cpus().length} × ` +
		`${processor?.model.trim() ?? 'unknown processor'}, load at the end ${load}`
	);
}

const RESULTS = 'bench/results.json';

/** The commit that was measured, and whether something was changed since. */
export function commit(): string {
	const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
	try {
		const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
		return `commit ${git('rev-parse', '--short=10', 'HEAD')}${isChanged ? ', with changes' : ''}`;
	} catch {
		return 'outside a repository';
	}
}

/**
 * Writes `bench/results.json`, `docs/benchmarks.md` with its chart, and README's three figures with
 * theirs, if README has a place for them.
 *
 * @param measured all rows, of one run
 * @param version what was measured
 */
export function writeReport(
	measured: readonly Measured[],
	version: string,
	notes: readonly string[],
): string[] {
	writeFileSync(at(RESULTS), `${JSON.stringify({ version, measured }, null, '\t')}\n`);
	const lines = measured.flatMap((row) => row.lines);
	const results = [
		'# Benchmarks',
		`${tally(lines)} \`npm run bench\` writes this page: medians of several runs, with all candidates in each run, against the [embedded gateway](embedded-gateway.md). What the figures mean for your machine: [Running it](running.md#how-much-it-takes).`,
		'![Measurements: shorter bars are better](images/bench.svg)',
		table(lines),
		KEY,
		`Measured on ${version}. ${machine()}.`,
		...notes,
	].join('\n\n');
	writeFileSync(at('docs/benchmarks.md'), `${results}\n`);
	mkdirSync(at('docs/images'), { recursive: true });
	const charts = measured.flatMap(({ chart }) => (chart === undefined ? [] : [chart]));
	writeFileSync(at('docs/images/bench.svg'), drawCharts(charts));
	const summary = measured.filter(({ name }) => SUMMARY_CHARTS.includes(name));
	writeFileSync(
		at('docs/images/bench-summary.svg'),
		drawCharts(summary.flatMap(({ chart }) => (chart === undefined ? [] : [chart]))),
	);
	const written = [
		RESULTS,
		'docs/benchmarks.md',
		'docs/images/bench.svg',
		'docs/images/bench-summary.svg',
	];
	return fillReadme(at('README.md'), measured) ? [...written, 'README.md'] : written;
}
