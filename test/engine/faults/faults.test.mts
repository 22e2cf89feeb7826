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
import { faultPage, readFaultPage } from './fault-page.mjs';
import { runCell, type Seen } from './matrix-run.mjs';
import { pooled } from '../../../harness/pooled.mjs';
import { everythingIn, MODEL } from '../workbench.mjs';

const KEY = 'sk-embedded-gateway-one';
const WIDTH = 10;

/** Writes the page from what is seen, for somebody to review; then the page holds what is seen. */
const UPDATE = process.env.UPDATE_DOCS === '1';
const PAGE = join(__dirname, '..', '..', '..', 'docs', 'faults.md');

const CELLS = readFaultPage(readFileSync(PAGE, 'utf8'));
const named = CELLS.map((cell) => [`${cell.call}: ${cell.fault}`, cell] as const);

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

/** A sentence in which `…` stands for anything. */
function sentence(text: string): RegExp {
	const parts = text.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
	return new RegExp(`^${parts.join('.+')}$`);
}

const everyCell = CALLS.flatMap((call) =>
	(Object.keys(FAULTS) as FaultName[]).map((fault) => ({ fault, call })),
);

/** What is read as a hint is no error: everything comes out all the same. */
const isHint = ({ call }: Pick<Cell, 'call'>): boolean => call === 'check';

(UPDATE ? describe : describe.skip)('docs/faults.md', () => {
	const seenFor = results(everyCell, async (cell) => await runCell(cell));

	test('is written anew', () => {
		writeFileSync(PAGE, faultPage(everyCell.map((cell) => written(cell, seenFor(cell)))));
	});
});

(UPDATE ? describe.skip : describe)('docs/faults.md', () => {
	test('has a cell for each fault and call', () => {
		const wanted = everyCell.map(({ call, fault }) => `${call}: ${fault}`);
		expect(named.map(([name]) => name).sort()).toEqual(wanted.sort());
	});

	test('reads as it would be written', () => {
		expect(readFileSync(PAGE, 'utf8')).toBe(faultPage(CELLS));
	});
});

(UPDATE ? describe.skip : describe)('a fault that strikes every time', () => {
	const seenFor = results(CELLS, async (cell) => await runCell(cell));

	test.each(named)('%s', (_, cell) => {
		const seen = seenFor(cell);
		if (isHint(cell)) {
			expect(seen.hints).toEqual(
				cell.reads === '' ? [] : [expect.stringMatching(sentence(cell.reads))],
			);
			expect(seen).toMatchObject({ message: '', items: 1, sentAgain: false, paid: 1 });
			return;
		}
		expect(seen.message).toMatch(sentence(cell.reads));
		expect(seen).toMatchObject({ sentAgain: cell.sentAgain, paid: cell.paid });
		expect(seen.items).toBe(cell.reads === '' ? 1 : 0);
		expect(everythingIn(seen)).not.toContain(KEY);
		if (cell.reads === '') return;

		const words = `${seen.message} ${seen.description}`;
		expect(seen.description).not.toBe('');
		if (cell.call === 'poll') expect(words).toContain(seen.taskId ?? 'task_x');
		if (cell.call === 'download') {
			expect(seen.details.url).toMatch(/^http.*\.png$/);
			expect(words).toContain(seen.details.url);
		}
		if (/^The outcome is unknown/.test(cell.reads)) expect(words).toMatch(/wasn't sent again/);
	});

	test('only what was charged, or may have been, has an unknown outcome', () => {
		const paidCalls = ['submit', 'sync', 'message'];
		for (const { call, reads, sentAgain, paid } of CELLS) {
			const unknown = /^The outcome is unknown/.test(reads);
			if (unknown) expect([paidCalls.includes(call), sentAgain]).toEqual([true, false]);
			// What was charged comes out, or is said to be unknown.
			if (paidCalls.includes(call) && paid > 0 && reads !== '') expect(unknown).toBe(true);
		}
	});

	test('another host is only asked for images, and without a credential', () => {
		const away = CELLS.filter(({ fault }) => fault === 'redirect away');
		const headers = away.map((cell) => [cell.call, seenFor(cell).foreignHeaders] as const);
		for (const [call, received] of headers) {
			expect(received.length > 0).toBe(call === 'download');
			for (const one of received) {
				expect(one).not.toHaveProperty('authorization');
				expect(one).not.toHaveProperty('x-api-key');
				expect(JSON.stringify(one)).not.toContain(KEY);
			}
		}
	});
});

(UPDATE ? describe.skip : describe)('a fault that strikes once', () => {
	const passing = named.filter(([, { fault, reads }]) => {
		return (FAULTS[fault] as MatrixFault).fault !== undefined && reads !== '';
	});
	const seenFor = results(
		passing.map(([, cell]) => cell),
		async (cell) => await runCell(cell, { times: 1, onError: 'continueErrorOutput' }),
	);

	test.each(passing)('%s', (_, cell) => {
		const { paid, items, message, hints, onErrorOutput, details, taskId } = seenFor(cell);
		if (cell.sentAgain || isHint(cell)) {
			expect({ message, items }).toEqual({ message: '', items: 1 });
			expect(paid).toBe(FREE.includes(cell.call) ? 0 : 1);
			expect(hints).toHaveLength(isHint(cell) ? 1 : 0);
			return;
		}
		expect({ items, paid }).toEqual({ items: 0, paid: cell.paid });
		expect(message).toMatch(sentence(cell.reads));
		expect(onErrorOutput.map((json) => Object.keys(json).sort())).toEqual([['details', 'error']]);
		if (cell.call === 'poll') expect(details.taskId).toBe(taskId);
		if (cell.call === 'download') expect(details.url).toMatch(/^http/);
		expect(details.outcome).toBe(/^The outcome is unknown/.test(message) ? 'unknown' : undefined);
	});
});
