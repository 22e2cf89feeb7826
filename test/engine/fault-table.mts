/** The fault matrix as the page that people read. */
import { CELLS, FAULTS, type Cell, type FaultName, type MatrixCall } from './fault-matrix.mjs';

const HEADINGS: Record<MatrixCall, string> = {
	submit: 'Submitting a task',
	sync: 'Creating an image synchronously',
	poll: 'Asking for a task',
	download: 'Downloading an image',
};

const INTRODUCTION = `# Faults

What happens when something goes wrong on the way: what you read, whether the same request is sent
again by itself, and what the gateway has charged when the fault strikes every time. Made from the
data of the tests, which bring about each of these faults on n8n's own engine
(\`test/engine/fault-matrix.mts\`; \`UPDATE_DOCS=1 npx jest test/engine/faults\` writes this page).

A request that may have been charged is never sent again by itself. "…" stands for what differs: the
ID of the task, or a number. Each error names the task or the address of the image it is about, so
that nothing that was paid for is out of reach.
`;

/** The whole page. */
export function faultPage(): string {
	const calls = Object.keys(HEADINGS) as MatrixCall[];
	return [INTRODUCTION, ...calls.map(section)].join('\n');
}

function section(call: MatrixCall): string {
	const cells = CELLS.filter((cell) => cell.call === call);
	const rows = groupsOf(cells).map(
		({ faults, cell }) =>
			`| ${faults.map((fault) => FAULTS[fault].name).join('<br>')} | ${reading(cell)} | ${cell.sentAgain ? 'yes' : 'no'} | ${charge(cell)} |`,
	);
	return [
		`## ${HEADINGS[call]}`,
		'',
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

function reading({ reads }: Cell): string {
	return reads === '' ? '*Nothing: the images come out*' : reads.replaceAll('|', '\\|');
}

function charge({ call, paid }: Cell): string {
	if (call === 'poll') return 'nothing more';
	if (call === 'download') return 'the image, once';
	return paid === 0 ? 'no' : 'once';
}
