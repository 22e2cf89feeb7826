import '../fast-time.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
	CALLS,
	FAULTS,
	type Cell,
	type FaultName,
	type MatrixCall,
	type MatrixFault,
} from './fault-matrix.mjs';
import { faultPage } from './fault-page.mjs';
import { runCell, type Seen } from './matrix-run.mjs';
import { pooled } from '../../../harness/pooled.mjs';
import { everythingIn, MODEL } from '../workbench.mjs';

const KEY = 'sk-embedded-gateway-one';
const WIDTH = 10;

/** Writes the page from what is seen, for somebody to review. */
const UPDATE = process.env.UPDATE_DOCS === '1';
const PAGE = join(__dirname, '..', '..', '..', 'docs', 'faults.md');

/** What never costs anything; the image of a poll was charged before. */
const FREE: MatrixCall[] = ['poll', 'listing', 'model'];

/** Whether the cell only waits for most of its time, until each of its requests times out. */
const isSlow = ({ fault, call }: Pick<Cell, 'fault' | 'call'>): boolean =>
	call !== 'poll' && (FAULTS[fault] as MatrixFault).timesOut === true;

/** Results of all cells, which run side by side; each test looks at its own. */
function results<C extends Pick<Cell, 'fault' | 'call'>>(
	cells: readonly C[],
	run: (cell: C) => Promise<Seen>,
) {
	const seen = new Map<C, Seen>();
	beforeAll(async () => {
		const look = async (cell: C) => void seen.set(cell, await run(cell));
		const slow = cells.filter(isSlow);
		const others = cells.filter((cell) => !isSlow(cell));
		await Promise.all([pooled(slow, cells.length, look), pooled(others, WIDTH, look)]);
	}, 240_000);
	return (cell: C) => seen.get(cell)!;
}

/** What was seen, as it stands on the page: `…` for what differs from run to run. */
function written({ fault, call }: Pick<Cell, 'fault' | 'call'>, seen: Seen): Cell {
	const reads = (isHint({ call }) ? (seen.hints[0] ?? '') : seen.message)
		.replaceAll(/\btask_\w+/g, '…')
		.replaceAll(`"${MODEL}"`, '"…"')
		.replaceAll(`'${MODEL}'`, "'…'")
		.replaceAll(/\(tried \d+ times\)/g, '(tried … times)');
	return { fault, call, reads, sentAgain: seen.sentAgain, paid: seen.paid };
}

const everyCell = CALLS.flatMap((call) =>
	(Object.keys(FAULTS) as FaultName[]).map((fault) => ({ fault, call })),
);

/** What is read as a hint is no error: everything comes out all the same. */
const isHint = ({ call }: Pick<Cell, 'call'>): boolean => call === 'check';

const PAID: MatrixCall[] = ['submit', 'sync', 'message'];

/** What is seen where a fault strikes every time. */
const always = results(everyCell, async (cell) => await runCell(cell));

describe('a fault that strikes every time', () => {
	test('does what docs/faults.md says', () => {
		const page = faultPage(everyCell.map((cell) => written(cell, always(cell))));
		if (UPDATE) writeFileSync(PAGE, page);
		expect(page).toBe(readFileSync(PAGE, 'utf8'));
	});

	test.each(CALLS)('%s: errors name what was paid for, and neither key nor nothing', (wanted) => {
		for (const cell of everyCell.filter(({ call }) => call === wanted)) {
			const { taskId, ...seen } = always(cell);
			const words = `${seen.message} ${seen.description}`;
			const isGood = seen.message === '';
			expect(everythingIn(seen)).not.toContain(KEY);
			expect([cell, seen.items]).toEqual([cell, isGood ? 1 : 0]);
			if (isHint(cell)) expect(seen).toMatchObject({ message: '', sentAgain: false });
			if (!PAID.includes(wanted)) expect(seen.paid).toBe(FREE.includes(wanted) ? 0 : 1);
			if (isGood) continue;
			expect(seen.description).not.toBe('');
			if (cell.call === 'poll') expect(words).toContain(taskId ?? 'task_x');
			if (cell.call === 'download') expect(seen.details.url).toMatch(/^http.*\.png$/);
			if (cell.call === 'download') expect(words).toContain(seen.details.url);
			// What was charged comes out, or is said to be unknown; what is unknown isn't sent again.
			const isUnknown = /^The outcome is unknown/.test(seen.message);
			expect([cell, isUnknown && !PAID.includes(cell.call)]).toEqual([cell, false]);
			if (PAID.includes(cell.call) && seen.paid > 0)
				expect([cell, isUnknown]).toEqual([cell, true]);
			if (!isUnknown) continue;
			expect(seen.sentAgain).toBe(false);
			expect(words).toMatch(/wasn't sent again/);
		}
	});

	test('another host is only asked for images, and without a credential', () => {
		const away = everyCell.filter(({ fault }) => fault === 'redirect away');
		for (const cell of away) {
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

/** Faults that differ in what follows from them. */
const DIFFERENT: FaultName[] = [
	'400',
	'404',
	'408',
	'429 seconds',
	'429 date',
	'429 long',
	'503',
	'html',
	'truncated',
	'reset before',
	'reset after',
	'drip',
	'redirect here',
];

describe('a fault that strikes once', () => {
	const cells = everyCell.filter(({ fault }) => DIFFERENT.includes(fault));
	const onError = 'continueErrorOutput';
	const once = results(cells, async (cell) => await runCell(cell, { times: 1, onError }));

	test.each(cells)('$call: $fault', (cell) => {
		const { paid, items, message, hints, onErrorOutput, details, taskId } = once(cell);
		const everyTime = always(cell);
		if (everyTime.sentAgain || isHint(cell)) {
			expect({ message, items }).toEqual({ message: '', items: 1 });
			expect(paid).toBe(FREE.includes(cell.call) ? 0 : 1);
			expect(hints).toHaveLength(isHint(cell) ? 1 : 0);
			return;
		}
		expect({ items, paid }).toEqual({ items: 0, paid: everyTime.paid });
		expect(written(cell, once(cell)).reads).toBe(written(cell, everyTime).reads);
		expect(onErrorOutput.map((json) => Object.keys(json).sort())).toEqual([['details', 'error']]);
		if (cell.call === 'poll') expect(details.taskId).toBe(taskId);
		if (cell.call === 'download') expect(details.url).toMatch(/^http/);
		expect(details.outcome).toBe(/^The outcome is unknown/.test(message) ? 'unknown' : undefined);
	});
});
