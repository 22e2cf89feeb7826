/** `npm run bench`: measures the package against what people use today, and against the ideal. */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { commit, machine, table, writeReport, type Measured } from './report/report.mjs';
import { scenarios } from './scenario-list.mjs';
import { builtInFolder } from './server-tree.mjs';

const help = `Measures the package: half an hour, best with nothing else running.

  npm run bench -- [options]

  --only NAME   one row, or several with commas: ${scenarios.map(({ name }) => name).join(', ')}
  --quick       smaller and only once each: to see whether it works
  --help        this text

Writes bench/results.json, docs/benchmarks.md, the charts and figures of README if all rows were measured and
it was not quick: the page shows one run on one commit. With
BENCH_CPU_PROFILE=FOLDER each candidate leaves a profile of its processor time there.
`;

const WITHOUT_BUILT_IN =
	'(a) was left out: the n8n server of the tests, which has the nodes, is not installed ' +
	'(npx tsx harness/install/install.mts 2).';

async function main(): Promise<number> {
	const { values } = parseArgs({
		options: {
			only: { type: 'string' },
			quick: { type: 'boolean', default: false },
			help: { type: 'boolean', default: false },
		},
	});
	if (values.help) {
		process.stdout.write(help);
		return 0;
	}
	const wanted = values.only?.split(',');
	const unknown = wanted?.find((name) => !scenarios.some((row) => row.name === name));
	if (unknown !== undefined) throw new Error(`There is no row "${unknown}".\n\n${help}`);

	// Of the beginning: what is changed meanwhile was not measured.
	const version = commit();
	const notes = builtInFolder() === undefined ? [WITHOUT_BUILT_IN] : [];
	notes.forEach((note) => console.log(note));
	const measured: Measured[] = [];
	for (const row of scenarios) {
		if (wanted !== undefined && !wanted.includes(row.name)) continue;
		const before = loadavg()[0] as number;
		process.stdout.write(`${row.title} … `);
		const begun = Date.now();
		const { lines, chart } = await row.run({ quick: values.quick });
		const load: [number, number] = [before, loadavg()[0] as number];
		measured.push({ name: row.name, lines, chart, load });
		const took = ((Date.now() - begun) / 1000).toFixed(0);
		console.log(`${took} s, load ${load.map((value) => value.toFixed(1)).join(' → ')}`);
		for (const line of lines) {
			const missed = line.platformMisses ? "NOT REACHED, nor by n8n's helper" : 'NOT REACHED';
			const verdict = line.reached ? 'reached' : missed;
			console.log(`  ${line.measure}: ${line.package}; ${line.goal}: ${verdict}`);
		}
	}
	console.log(`\n${table(measured.flatMap(({ lines }) => lines))}\n\n${machine()}`);
	if (!values.quick && measured.length === scenarios.length) {
		console.log(`Written: ${writeReport(measured, version, notes).join(', ')}`);
	}
	return 0;
}

main().then(
	(code) => process.exit(code),
	(error: Error) => {
		console.error(error.stack ?? error.message);
		process.exit(1);
	},
);
