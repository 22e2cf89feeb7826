/** The fault matrix as the page that people read, and that the tests are held to. */
import { CALLS, FAULTS, type Cell, type FaultName, type MatrixCall } from './fault-matrix.mjs';

const HEADINGS: Record<MatrixCall, string> = {
	submit: 'Submitting a task',
	sync: 'Creating an image synchronously',
	poll: 'Checking a task',
	download: 'Downloading an image',
	listing: 'Listing models',
	model: 'Getting one model',
	check: 'Checking limits before a paid request',
	message: 'Sending a message',
};

/** What has to be said before a table. */
const REMARKS: Partial<Record<MatrixCall, string>> = {
	check: `The run doesn't need the model list: with each of these faults the request is sent unchecked, the
image is returned, and the text is a hint on the node.`,
};

const INTRODUCTION = `# Faults

What happens when a request fails: the error you read, whether the node sends the request again
automatically, and what you're charged if the fault occurs every time. The tests cause each of these
faults on n8n's own engine and compare the result with this page (\`test/engine/faults/faults.test.mts\`).
\`UPDATE_DOCS=1 npx jest test/engine/faults\` updates the page: review the diff.

A request that may have been charged is never sent again automatically. "…" stands for a task ID, a
model name or a number. Each error names its task or the address of its image, so you can still get
everything you paid for.
`;

/** The whole page. */
export function faultPage(cells: readonly Cell[]): string {
	return [INTRODUCTION, ...CALLS.map((call) => section(call, cells))].join('\n');
}

/** The cells of a page. A row that several faults share becomes several cells. */
export function readFaultPage(page: string): Cell[] {
	return CALLS.flatMap((call) => {
		const [, rest = ''] = page.split(`\n## ${HEADINGS[call]}\n`);
		const [text = ''] = rest.split('\n## ');
		const rows = text.split('\n').filter((line) => /^\| (?!Fault \||---)/.test(line));
		return rows.flatMap((row) => cellsOf(call, row));
	});
}

function cellsOf(call: MatrixCall, row: string): Cell[] {
	const [faults = '', reads = '', again, charged] = row
		.slice(2, -2)
		.split(/(?<!\\) \| /)
		.map((text) => text.replaceAll('\\|', '|'));
	return faults.split('<br>').map((name) => {
		const fault = (Object.keys(FAULTS) as FaultName[]).find((key) => FAULTS[key].name === name);
		if (fault === undefined) throw new Error(`docs/faults.md names an unknown fault: ${name}`);
		return {
			fault,
			call,
			reads: /^\*Nothing: .*\*$/.test(reads) ? '' : reads,
			sentAgain: again === 'yes',
			paid: /\bonce$/.test(charged ?? '') ? 1 : 0,
		};
	});
}

function section(call: MatrixCall, all: readonly Cell[]): string {
	const cells = all.filter((cell) => cell.call === call);
	const rows = groupsOf(cells).map(
		({ faults, cell }) =>
			`| ${faults.map((fault) => FAULTS[fault].name).join('<br>')} | ${reading(cell)} | ${cell.sentAgain ? 'yes' : 'no'} | ${charge(cell)} |`,
	);
	const remark = REMARKS[call];
	return [
		`## ${HEADINGS[call]}`,
		'',
		...(remark === undefined ? [] : [remark, '']),
		'| Fault | What you read | Sent again | Charged |',
		'| --- | --- | --- | --- |',
		...rows,
		'',
	].join('\n');
}

/** Faults with the same consequences share a row. */
function groupsOf(cells: Cell[]): Array<{ faults: FaultName[]; cell: Cell }> {
	const groups = new Map<string, { faults: FaultName[]; cell: Cell }>();
	for (const cell of cells) {
		const key = JSON.stringify([cell.reads, cell.sentAgain, cell.paid]);
		const group = groups.get(key) ?? { faults: [], cell };
		group.faults.push(cell.fault);
		groups.set(key, group);
	}
	return [...groups.values()];
}

const COMES_OUT: Partial<Record<MatrixCall, string>> = {
	listing: 'the models are returned',
	model: 'the model is returned',
	message: 'the response is returned',
};

function reading({ call, reads }: Cell): string {
	if (reads !== '') return reads.replaceAll('|', '\\|');
	return `*Nothing: ${COMES_OUT[call] ?? 'the images are returned'}*`;
}

function charge({ call, paid }: Cell): string {
	if (call === 'poll') return 'nothing more';
	if (call === 'listing' || call === 'model') return 'never';
	if (call === 'download' || call === 'check') return 'the image, once';
	return paid === 0 ? 'no' : 'once';
}
