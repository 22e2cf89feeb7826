/** The three figures that README shows of the measurements, between its two marks. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Line } from './lines.mjs';

const START = '<!-- bench:start -->';
const END = '<!-- bench:end -->';

/** The rows whose charts README shows. */
export const SUMMARY_CHARTS: readonly string[] = ['hundred', 'refusing', 'same'];

interface Row {
	name: string;
	lines: Line[];
}

/**
 * Writes between README's two marks; returns false where these or the rows are missing.
 *
 * @param file README's path
 */
export function fillReadme(file: string, measured: readonly Row[]): boolean {
	const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
	const start = text.indexOf(START);
	const end = text.indexOf(END);
	const section = readmeSection(measured);
	if (start < 0 || end < start || section === undefined) return false;
	writeFileSync(file, `${text.slice(0, start + START.length)}\n\n${section}\n\n${text.slice(end)}`);
	return true;
}

/** What stands there; undefined while one of the rows has not been measured. */
function readmeSection(measured: readonly Row[]): string | undefined {
	const line = (name: string, index: number) =>
		measured.find((row) => row.name === name)?.lines[index];
	const hundred = line('hundred', 0);
	const refusing = line('refusing', 0);
	const waiting = line('waiting', 1);
	if (!hundred || !refusing || !waiting) return undefined;
	return [
		'## How fast',
		[
			`- 100 tasks of 3 seconds: **${hundred.package}** (${hundred.ideal} at best).`,
			`- 200 tasks of 3 seconds at a gateway that allows 30 requests per second: **${refusing.package}** (${refusing.ideal} at best); a workflow of HTTP Request, Wait and If ${refusing.builtIn}.`,
			`- Memory for 1,000 waiting tasks: **${/^[^(]*/.exec(waiting.package)![0].trim()}**.`,
		].join('\n'),
		'[![Measurements: shorter bars are better](docs/images/bench-summary.svg)](docs/benchmarks.md)',
	].join('\n\n');
}
