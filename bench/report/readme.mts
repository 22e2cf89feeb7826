/** The figures that README shows of the measurements, between its two marks. */
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
	const late = line('hundred', 0);
	const refusing = line('refusing', 0);
	const lateOf = (text = '') => text.split(',')[0];
	if (!late || !refusing) return undefined;
	return [
		[
			`- 100 tasks of 2 to 8 seconds: found **${lateOf(late.package)}** (HTTP Request, Wait, If: ${lateOf(late.builtIn)}).`,
			`- 200 tasks of 3 seconds, 30 requests/s allowed: **${refusing.package}** (HTTP Request, Wait, If: ${refusing.builtIn}).`,
		].join('\n'),
		'[![Measurements: shorter bars are better](docs/images/bench-summary.svg)](docs/benchmarks.md)',
	].join('\n\n');
}
