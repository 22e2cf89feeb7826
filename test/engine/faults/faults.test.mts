import { timeouts } from '../fast-time.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pooled } from '../../../harness/pooled.mjs';
import { everythingIn, MODEL } from '../workbench.mjs';
import {
	COLUMNS,
	FAULTS,
	ROWS,
	type Cell,
	type FaultName,
	type MatrixCall,
	type MatrixFault,
	type Struck,
} from './fault-matrix.mjs';
import { faultPage } from './fault-page.mjs';
import { runCell, type Seen } from './matrix-run.mjs';

const KEY = 'sk-embedded-gateway-one';
const WIDTH = 10;

/** Writes the page from what is seen, for somebody to review. */
const UPDATE = process.env.UPDATE_DOCS === '1';
const PAGE = join(__dirname, 'matrix.md');

const PAID: MatrixCall[] = ['submit', 'sync', 'message'];
/** What never costs anything; the image of a poll was charged before. */
const FREE: MatrixCall[] = ['poll', 'listing', 'model'];

/** What is read as a hint is no error: everything comes out all the same. */
const isHint = (call: MatrixCall): boolean => call === 'check';

/** A cell for each row and column: one of the row's faults in one of the column's calls, in turn. */
const MATRIX: Struck[][] = ROWS.map((faults, row) =>
	COLUMNS.map((calls, column) => ({
		fault: faults[column % faults.length]!,
		call: calls[row % calls.length]!,
	})),
);
const CELLS = MATRIX.flat();

/** Results of all cells, which run side by side; a busy machine makes none of them time out. */
async function resultsOf<C extends Struck>(
	cells: readonly C[],
	run: (cell: C) => Promise<Seen>,
): Promise<Map<C, Seen>> {
	const seen = new Map<C, Seen>();
	const timesOut = ({ fault }: C) => (FAULTS[fault] as MatrixFault).timesOut === true;
	for (const pass of ['never', 'fast'] as const) {
		const own = cells.filter((cell) => timesOut(cell) === (pass === 'fast'));
		const end = timeouts(pass);
		await pooled(own, WIDTH, async (cell) => void seen.set(cell, await run(cell)));
		end();
	}
	return seen;
}

/** What was seen, as it stands on the page: `…` for what differs from run to run. */
function written({ fault, call }: Struck, { hints, message, sentAgain, paid }: Seen): Cell {
	const reads = (isHint(call) ? (hints[0] ?? '') : message)
		.replaceAll(/\btask_\w+/g, '…')
		.replaceAll(`"${MODEL}"`, '"…"')
		.replaceAll(`'${MODEL}'`, "'…'")
		.replaceAll(/\(tried \d+ times\)/g, '(tried … times)');
	return { fault, call, reads, sentAgain, paid };
}

describe('a fault that strikes every time', () => {
	let results: Map<Struck, Seen>;
	beforeAll(async () => {
		results = await resultsOf(CELLS, async (cell) => await runCell(cell));
	}, 240_000);
	const always = (cell: Struck): Seen => results.get(cell)!;

	test('does what matrix.md says', () => {
		const page = faultPage(MATRIX.map((row) => row.map((cell) => written(cell, always(cell)))));
		if (UPDATE) writeFileSync(PAGE, page);
		expect(page).toBe(readFileSync(PAGE, 'utf8'));
	});

	test.each(COLUMNS)('%s: errors name what was paid for, and neither key nor nothing', (first) => {
		const column = COLUMNS.findIndex((calls) => calls.includes(first));
		for (const cell of MATRIX.map((row) => row[column]!)) {
			const { call } = cell;
			const { taskId, ...seen } = always(cell);
			const words = `${seen.message} ${seen.description}`;
			const isGood = seen.message === '';
			expect(everythingIn(seen)).not.toContain(KEY);
			expect([cell, seen.items]).toEqual([cell, isGood ? 1 : 0]);
			if (isHint(call)) expect(seen).toMatchObject({ message: '', sentAgain: false });
			if (!PAID.includes(call)) expect(seen.paid).toBe(FREE.includes(call) ? 0 : 1);
			if (isGood) continue;
			expect(seen.description).not.toBe('');
			if (call === 'poll') expect(words).toContain(taskId ?? 'task_x');
			if (call === 'download') expect(seen.details.url).toMatch(/^http.*\.png$/);
			if (call === 'download') expect(words).toContain(seen.details.url);
			// What was charged comes out, or is said to be unknown; what is unknown isn't sent again.
			const isUnknown = /^The outcome is unknown/.test(seen.message);
			expect([cell, isUnknown && !PAID.includes(call)]).toEqual([cell, false]);
			if (PAID.includes(call) && seen.paid > 0) expect([cell, isUnknown]).toEqual([cell, true]);
			if (!isUnknown) continue;
			expect(seen.sentAgain).toBe(false);
			expect(words).toMatch(/wasn't sent again/);
		}
	});

	test('another host is only asked for images, and without a credential', () => {
		for (const cell of CELLS.filter(({ fault }) => fault === 'redirect away')) {
			const { foreignHeaders } = always(cell);
			expect([cell.call, foreignHeaders.length > 0]).toEqual([cell.call, cell.call === 'download']);
			for (const one of foreignHeaders) {
				expect(one).not.toHaveProperty('authorization');
				expect(one).not.toHaveProperty('x-api-key');
				expect(JSON.stringify(one)).not.toContain(KEY);
			}
		}
	});
});

/** What a fault leads to that strikes once: the second request succeeds, or nothing is sent again. */
type Once = 'is sent again' | 'is refused' | 'is unknown' | 'fails';

const ONCE: Array<[call: MatrixCall, fault: FaultName, comesTo: Once]> = [
	['submit', '400', 'is refused'],
	['submit', '429 seconds', 'is sent again'],
	['submit', 'reset after', 'is unknown'],
	['sync', '429 long', 'is refused'],
	['sync', '503', 'is unknown'],
	['sync', 'redirect here', 'is refused'],
	['message', '408', 'is unknown'],
	['message', '429 date', 'is sent again'],
	['message', 'drip', 'is unknown'],
	['poll', '400', 'fails'],
	['poll', '404', 'is sent again'],
	['poll', 'truncated', 'is sent again'],
	['download', '404', 'fails'],
	['download', 'drip', 'is sent again'],
	['download', 'html', 'is sent again'],
	['listing', '503', 'is sent again'],
	['model', 'reset before', 'is sent again'],
	['check', '429 seconds', 'fails'],
];

describe('a fault that strikes once', () => {
	const cells = ONCE.map(([call, fault, comesTo]) => ({ call, fault, comesTo }));
	const onError = 'continueErrorOutput';
	let results: Map<Struck, Seen>;
	beforeAll(async () => {
		results = await resultsOf(cells, async (cell) => await runCell(cell, { times: 1, onError }));
	}, 240_000);

	test.each(cells)('$call, $fault: it $comesTo', (cell) => {
		const { call, fault, comesTo } = cell;
		const { paid, items, message, hints, onErrorOutput, details, taskId } = results.get(cell)!;
		if (comesTo === 'is sent again' || isHint(call)) {
			expect({ message, items }).toEqual({ message: '', items: 1 });
			expect(paid).toBe(FREE.includes(call) ? 0 : 1);
			expect(hints).toHaveLength(isHint(call) ? 1 : 0);
			return;
		}
		const isCharged = ['reset after', 'drip'].includes(fault) || call === 'download';
		expect({ items, paid }).toEqual({ items: 0, paid: isCharged ? 1 : 0 });
		expect(onErrorOutput.map((json) => Object.keys(json).sort())).toEqual([['details', 'error']]);
		if (call === 'poll') expect(details.taskId).toBe(taskId);
		if (call === 'download') expect(details.url).toMatch(/^http/);
		const outcome = comesTo === 'is unknown' ? 'unknown' : undefined;
		expect([/^The outcome is unknown/.test(message), details.outcome]).toEqual([
			outcome !== undefined,
			outcome,
		]);
	});
});
