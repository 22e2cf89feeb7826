/** What a run has made and cost, by what its output items say. */
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { describeBills } from '../../../nodes/shared/run/summary.js';
import { sumOfBills, totalsOf } from '../../../nodes/shared/run/totals.js';

const tally = (...items: IDataObject[][]) =>
	totalsOf(items.map((list) => list.map((json) => ({ json }))));
const failed = (details: IDataObject): IDataObject => ({ error: 'no', details });

const IMAGE = { url: 'https://x/1.png', index: 0, estimatedCost: 0.04, cost: 0.05 };
const TASK = { taskId: 't1', taskType: 'edit' };
const BILL = { cost: 0.05, costCurrency: undefined };

test.each<[string, IDataObject[][], object]>([
	['nothing', [], { images: 0, tasks: 0, bills: [] }],
	['items without an output', [[], []], { images: 0, tasks: 0, bills: [] }],
	[
		'three images of a request, of which one could not be downloaded',
		[[IMAGE, { ...IMAGE, index: 1 }, failed({ charged: 'yes', ...IMAGE, index: undefined })]],
		{ images: 3, tasks: 0, estimatedCost: 0.12, bills: [{ ...BILL, cost: 0.15 }] },
	],
	[
		'one item for a request',
		[[{ urls: [], images: [{}, {}, { error: 'no' }], estimatedCost: 0.1 }]],
		{ images: 3, tasks: 0, estimatedCost: 0.1, bills: [] },
	],
	[
		'all images of a request, of which none could be downloaded',
		[[failed({ charged: 'yes', url: 'a', urls: ['a', 'b'] })]],
		{ images: 2, tasks: 0, bills: [], unpricedImages: 2 },
	],
	[
		'two items of a task, of which one knows the price and the other the images and the bill',
		[
			[failed({ charged: 'yes', ...TASK, estimatedCost: 0.04 })],
			[{ ...IMAGE, ...TASK, estimatedCost: undefined }],
		],
		{ images: 1, tasks: 1, estimatedCost: 0.04, bills: [BILL] },
	],
	[
		'tasks of two kinds with one ID',
		[[{ ...IMAGE, ...TASK }], [{ ...IMAGE, ...TASK, taskType: 'generation' }]],
		{ images: 2, tasks: 2, estimatedCost: 0.08, bills: [{ ...BILL, cost: 0.1 }] },
	],
	[
		'a request of unknown outcome, whose ID may be that of anything',
		[[failed({ charged: 'maybe', outcome: 'unknown', ...TASK, estimatedCost: 0.04 })]],
		{ images: 0, tasks: 0, estimatedCost: 0.04, bills: [] },
	],
	[
		'a refusal, the source of an edit in it, and a dry run',
		[
			[failed({ charged: 'no', url: 'a', ...TASK, cost: 1 })],
			[{ dryRun: true, estimatedCost: 0.04 }],
		],
		{ images: 0, tasks: 0, bills: [] },
	],
	[
		'a failed item with the fields of its input',
		[[{ ...IMAGE, ...failed({ charged: 'maybe' }) }]],
		{ images: 0, tasks: 0, bills: [], unpricedImages: 1 },
	],
	[
		'two images without a price, a task and an unknown outcome without one, and a bill',
		[
			[IMAGE],
			[
				{ url: 'a', index: 0 },
				{ url: 'b', index: 1 },
			],
			[TASK],
			[failed({ charged: 'maybe', outcome: 'unknown' })],
			[{ url: 'c', index: 0, cost: 1 }],
			[failed({ charged: 'no' })],
		],
		{
			images: 4,
			tasks: 1,
			estimatedCost: 0.04,
			bills: [{ ...BILL, cost: 1.05 }],
			unpricedImages: 4,
		},
	],
	[
		'details where n8n 1 has them',
		[[{ error: 'no', message: { charged: 'maybe', cost: 1, costCurrency: 'USD' } }], [IMAGE]],
		{
			images: 1,
			tasks: 0,
			estimatedCost: 0.04,
			bills: [{ cost: 1, costCurrency: 'USD' }, BILL],
		},
	],
])('%s', (_, items, expected) => {
	expect(tally(...items)).toEqual({ unpricedImages: 0, ...expected });
});

test('sums are for each currency', () => {
	const sums = sumOfBills([{ cost: 0.1 }, { cost: 0.2 }, {}, { cost: 1, costCurrency: 'EUR' }]);
	expect(sums).toEqual([{ cost: 0.3 }, { cost: 1, costCurrency: 'EUR' }]);
	expect(describeBills(sums)).toBe('0.3 and 1 EUR');
});
