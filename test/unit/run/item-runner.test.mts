/** When items are begun: the turns in which it happens, and what a Stop leaves undone. */
import { setImmediate as turn } from 'node:timers/promises';
import { runItems } from '../../../nodes/shared/run/itemRunner.js';
import { RunEnded } from '../../../gateway/wire/inFlight.js';

type RunOfItems = Parameters<typeof runItems>[0];
type ItemSteps = Parameters<typeof runItems>[2];

/** A run whose turns are counted. */
function openRun(continuesOnFail = false) {
	let turns = 0;
	let isOver = false;
	let stop = (): void => undefined;
	const ended = new RunEnded('The run has ended');
	const close = (): void => void (isOver = true);
	const stopped = new Promise<never>((_, reject) => {
		stop = () => {
			close();
			reject(ended);
		};
	});
	stopped.catch(() => undefined);
	const run: RunOfItems = {
		node: { id: '1', name: 'Images', type: 'x', typeVersion: 1, position: [0, 0], parameters: {} },
		continuesOnFail,
		gateway: {
			yieldToOthers: async () => {
				if (isOver) return await Promise.reject(ended);
				turns += 1;
				await turn();
			},
			stopped,
			close,
		},
	};
	return { run, stop, turns: () => turns };
}

const COUNT = 100;
const item = (index: number) => [{ json: { index } }];

test('others get their turn while many items are prepared and begun, and the order is kept', async () => {
	const { run, turns } = openRun();
	const seen: Array<{ prepared: number; begun: number }> = [];
	let [prepared, begun] = [0, 0];
	const watch = async (): Promise<void> => {
		while (begun < COUNT) {
			seen.push({ prepared, begun });
			await turn();
		}
	};
	const watching = watch();
	const output = await runItems(run, COUNT, {
		prepare: (index) => {
			prepared += 1;
			return async () => {
				begun += 1;
				await turn();
				return item(index);
			};
		},
	});
	await watching;
	expect(output.flat()).toEqual(Array.from({ length: COUNT }, (_, index) => item(index)).flat());
	// In both passes 25 items a yieldToOthers: all of them together take longer than a turn may.
	expect(turns()).toBe((2 * COUNT) / 25);
	expect(seen.some(({ prepared: some }) => some > 0 && some < COUNT)).toBe(true);
	expect(seen.some(({ begun: some }) => some > 0 && some < COUNT)).toBe(true);
	// A mistake in the last item is found before the first one is paid for.
	expect(seen.filter((moment) => moment.prepared < COUNT && moment.begun > 0)).toEqual([]);
});

test.each([true, false])(
	'after a Stop while items are prepared, nothing is set aside or begun (Continue: %s)',
	async (goOn) => {
		const { run, stop } = openRun(goOn);
		const done: string[] = [];
		let listing = (): void => undefined;
		const arrived = new Promise<void>((resolve) => {
			listing = resolve;
		});
		const steps: ItemSteps = {
			prepare: async (index) => {
				// The last one waits for a response, which comes after the Stop.
				if (index === COUNT - 1) await arrived;
				return async () => {
					done.push('begun');
					return await Promise.resolve(item(index));
				};
			},
			checkAll: () => {
				done.push('set aside');
				return [];
			},
		};
		const result = runItems(run, COUNT, steps);
		for (let times = 0; times < COUNT; times += 1) await turn();
		stop();
		await expect(result).rejects.toThrow('canceled');
		listing();
		await turn();
		expect(done).toEqual([]);
	},
);

test.each([true, false])(
	'an item that fails is an item of the output, or ends what is not begun (Continue: %s)',
	async (goOn) => {
		const { run } = openRun(goOn);
		const begun: number[] = [];
		const result = runItems(run, COUNT, {
			prepare: (index) => async () => {
				begun.push(index);
				await turn();
				if (index === 0) throw new Error('too dark');
				return item(index);
			},
		});
		if (goOn) {
			const [first, ...others] = await result;
			expect(first).toMatchObject([{ json: { error: 'too dark' }, pairedItem: { item: 0 } }]);
			expect(others).toEqual(Array.from({ length: COUNT - 1 }, (_, at) => item(at + 1)));
		} else await expect(result).rejects.toThrow('too dark');
		expect(begun).toHaveLength(COUNT);
	},
);
