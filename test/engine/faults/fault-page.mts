/**
 * The fault matrix as the page that people read, with each text once. A cell names its text by its
 * number; placeholders stand for what differs from row to row and from column to column.
 */
import { PLACES, type Place } from './failure-places.mjs';
import type { NodeName } from '../workbench.mjs';
import {
	COLUMNS,
	FAULTS,
	ROWS,
	type Cell,
	type FaultName,
	type MatrixCall,
	type MatrixFault,
} from './fault-matrix.mjs';

const HEADS: Record<MatrixCall, string> = {
	submit: 'Submit',
	sync: 'Synchronous',
	message: 'Message',
	poll: 'Status check',
	download: 'Download',
	listing: 'Model list',
	model: 'One model',
	check: 'Check Limits',
};

/** What stands for `{doing}` in a text. */
const DOING: Partial<Record<MatrixCall, string>> = {
	submit: 'submitting the image task',
	sync: 'creating the image',
	poll: 'checking the task status',
	listing: 'loading the model list',
	model: 'loading the model list',
	check: 'loading the model list',
	message: 'sending the message',
};

/** What stands for `{words}` where a fault names none of its own. */
const WORDS: Record<number, string> = {
	400: 'invalid request parameters',
	401: 'API key invalid',
	429: 'requests too frequent, retry later',
	500: 'service temporarily unavailable, retry later',
	502: 'service temporarily unavailable, retry later',
	503: 'service temporarily unavailable, retry later',
	504: 'service temporarily unavailable, retry later',
};

const UNKNOWN = 'The outcome is unknown: ';
const UNCHECKED = "The requests weren't checked against the model's limits: ";
const TRIED = ' (tried … times)';

const INTRODUCTION = `# Faults

What happens when a request fails every time: what you read, whether the node sends the request again
automatically, and whether you're charged. The tests cause each row's fault in each column's call on
n8n's own engine, by turns where they share a row or a column, and compare the result with this page
(\`test/engine/faults/faults.test.mts\`). \`UPDATE_DOCS=1 npx jest test/engine/faults\` updates it: review
the diff.

A request that may have been charged is never sent again automatically, except with an
[Idempotency Header](costs.md#with-an-idempotency-header): then what is \`?\` below is sent again up to six
times, after a timeout three times. Each error names its task or the address of its image, so you can
still get everything you paid for. A 4xx other than 408 and 499 is a
refusal: nothing was accepted or charged. What is known to fail before the first byte is sent isn't
charged either.

## Faults and calls

| Sign | Meaning |
| --- | --- |
| A number | What you read: [the text](#texts) with this number |
| ✓ | You read nothing, and get what you requested |
| ? | The text begins with "The outcome is unknown": you may have been charged |
| ↻ | The request is sent again, several times or until Max Wait |
| $ | The gateway charged once |

Status checks, model lists and downloads are never charged; a downloaded image was paid for before.
Where a status check is sent again (↻ in bold), the text begins with "The generation task … was still
open after … s; the last status check failed". *Check Limits* is the request for the model list before a
paid request: the run doesn't need it, so the request is sent unchecked, the image comes out, and the
text is a hint on the node.
`;

const TEXTS_INTRODUCTION = `## Texts

"…" stands for a task ID, a model name or a number, \`{status}\` and \`{words}\` for the fault's own, and
\`{doing}\` for what the node was doing:

${(['submit', 'sync', 'poll', 'listing', 'message'] as const)
	.map((call) => `${HEADS[call]}: ${DOING[call]}`)
	.join('; ')}.

Where a request is sent again, "(tried … times)" is added.
`;

const FACTS_INTRODUCTION = `## Facts of a failed item

What a failed item has in \`details\`, besides its \`model\` and \`prompt\`, by where it fails; the same for each
setting of *On Error* (\`context.details\` of the error if the node stops). A workflow decides by
\`charged\`: only \`no\` is safe to send again.
`;

const NODES: Partial<Record<NodeName, string>> = {
	imageGeneration: 'Image',
	imageEdit: 'Image Edit',
	imageWait: 'Image Wait',
	imageTask: 'Image Task',
	message: 'Message',
};

function rowOf({ where, nodes, facts: { charged, taskId, status, url } }: Place): string[] {
	const others = [
		...(taskId ? ['`taskId`', '`taskType`'] : []),
		...(status === undefined ? [] : [`\`status\` (${status})`]),
		...(url ? ['`url`'] : []),
	];
	return [where, nodes.map((node) => NODES[node]).join(', '), charged, others.join(', ')];
}

/** @param cells of each row, one for each column */
export function faultPage(cells: ReadonlyArray<readonly Cell[]>): string {
	const texts: string[] = [];
	const heads = COLUMNS.map((calls) => calls.map((call) => HEADS[call]).join('<br>'));
	const rows = ROWS.map((faults, row) => [
		faults.map((fault) => FAULTS[fault].name).join('<br>'),
		wordsOf(faults[0]!),
		...cells[row]!.map((cell) => written(cell, texts)),
	]);
	return [
		INTRODUCTION,
		table(['Fault', "The gateway's words", ...heads], rows),
		TEXTS_INTRODUCTION,
		table(
			['Text', 'What you read'],
			texts.map((text, index) => [String(index + 1), text.replaceAll('|', '\\|')]),
		),
		FACTS_INTRODUCTION,
		table(['Where it fails', 'Node', '`charged`', 'Other facts'], PLACES.map(rowOf)),
	].join('\n');
}

function table(head: string[], rows: string[][]): string {
	const lines = [head, head.map(() => '---'), ...rows];
	return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

const isCharged = (call: MatrixCall): boolean => ['submit', 'sync', 'message'].includes(call);

function written(cell: Cell, texts: string[]): string {
	const { text, unknown, open } = templateOf(cell);
	if (text !== '' && !texts.includes(text)) texts.push(text);
	const marks = [
		text === '' ? '✓' : String(texts.indexOf(text) + 1),
		unknown ? '?' : '',
		cell.sentAgain ? (open ? '**↻**' : '↻') : '',
		isCharged(cell.call) && cell.paid > 0 ? '$' : '',
	];
	return marks.filter((mark) => mark !== '').join(' ');
}

const statusOf = (fault: FaultName): string => {
	const { fault: injected } = FAULTS[fault] as MatrixFault;
	const byKind = { html: '200', redirect: '302' }[injected?.kind as string];
	return String(injected?.status ?? byKind ?? '');
};

function wordsOf(fault: FaultName): string {
	const { fault: injected } = FAULTS[fault] as MatrixFault;
	if (injected?.kind !== 'status') return '';
	return injected.message ?? WORDS[injected.status as number] ?? '';
}

/** What stands before the text of a wait that ended with its deadline. */
const stillOpen = (fault: FaultName): string =>
	`The generation task … was still open after ${(FAULTS[fault] as MatrixFault).maxWait ?? 30} s; the last status check failed: `;

/** The text without what the signs say, and without what is filled in. */
function templateOf({ fault, call, reads, sentAgain }: Cell): {
	text: string;
	unknown: boolean;
	open: boolean;
} {
	let text = reads;
	const without = (prefix: string): boolean => {
		const begins = text.startsWith(prefix);
		if (begins) text = text.slice(prefix.length);
		return begins;
	};
	if (call === 'check' && without(UNCHECKED)) text = text.replace(/\.$/, '');
	const open = without(stillOpen(fault));
	const unknown = without(UNKNOWN);
	// What follows the colon is the same text with a capital letter elsewhere.
	if (unknown) text = text.replace(/^w/, 'W');
	if (sentAgain && text.endsWith(TRIED)) text = text.slice(0, -TRIED.length);
	const [status, words, doing] = [statusOf(fault), wordsOf(fault), DOING[call]];
	// Only where they are quoted: a text of ours may have the same words.
	if (words !== '') {
		text = text.replace(`("${words}")`, '("{words}")');
		if (text.endsWith(`: ${words}`)) text = `${text.slice(0, -words.length)}{words}`;
	}
	if (status !== '') text = text.replaceAll(new RegExp(`\\b${status}\\b`, 'g'), '{status}');
	if (doing !== undefined) text = text.replaceAll(doing, '{doing}');
	return { text, unknown, open };
}
