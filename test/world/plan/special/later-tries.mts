/**
 * Worlds in which a later try meets what an earlier one has left: a budget that it has nearly spent,
 * images of an item that can't be prepared any more, another account; or two calls at once.
 */
import type { ServiceFault } from '../../service/service-setup.mjs';
import { SAYS_404 } from '../likelier.mjs';
import type { Act, Flow, PlannedItem, World } from '../world.mjs';

/** One world in so many is of either kind. */
const ONE_IN = 8;
const TRIED_AT = 6;
const CALLED_AT = 7;

/** The variant by which a paid request is refused for good. */
const SAYS_400 = 6;
const PRICE = 0.04;

type Case = (world: World, items: PlannedItem[]) => World;

export function laterTries(one: World): World {
	const { flow, seed } = one;
	const isImage = flow.make === 'generation' || flow.make === 'edit';
	if (!isImage || flow.dryRun) return one;
	if (seed % ONE_IN === CALLED_AT && flow.as.endsWith('Tool')) return calledAtOnce(one);
	if (seed % ONE_IN !== TRIED_AT) return one;
	const items = [...flow.items, ...flow.items, ...flow.items].slice(0, 3);
	return CASES[Math.floor(seed / ONE_IN) % CASES.length]!(one, items);
}

const CASES: Case[] = [
	// Item 0 can only be prepared when the others are paid for, and there is no budget left for it.
	(one, items) => tried(one, items, ofEdit, totalOf(items) - PRICE, [lost(0, 1)]),
	// The same, and the others are paid for one after the other.
	(one, items) => tried(one, items, ofEdit, totalOf(items) - PRICE, [lost(0, 2), lost(1, 1)]),
	// Item 0 is refused, which costs nothing: the budget is just enough.
	(one, items) => {
		const { parkAfter, mode } = one.flow;
		const kept = { parkAfter, mode: parkAfter === undefined ? mode : ('wait' as const) };
		return tried(one, items, kept, totalOf(items), [refused]);
	},
	(one, items) => retried(one, items),
	// Item 1 has its image when it can't be prepared any more.
	(one, items) => {
		const faults = [refused, lost(4, 1)];
		const { options, ...made } = tried(one, items, ofEdit, 0, faults).flow;
		const flow = { ...made, mode: 'sync' as const, options: { ...options, budget: 1000 } };
		return { ...one, flow, service: { ...calm(one), inline: one.seed % 3 > 0, faults } };
	},
];

/** Of what is edited, each file comes from a server. */
const ofEdit: Partial<Flow> = {
	make: 'edit',
	editFrom: 'url',
	onError: 'continueRegularOutput',
	download: false,
};

const lost = (skip: number, times: number): ServiceFault => ({
	call: 'download',
	kind: 'status',
	skip,
	times,
	variant: SAYS_404,
});

const refused: ServiceFault = {
	call: 'paid',
	kind: 'status',
	skip: 0,
	times: 1,
	variant: SAYS_400,
};

const totalOf = (items: PlannedItem[]): number => items.reduce((sum, { n }) => sum + n * PRICE, 0);

const calm = ({ service }: World): World['service'] => ({
	...service,
	perSecond: 0,
	inline: false,
});

/** Several tries, and a budget for all of them. */
function tried(
	one: World,
	items: PlannedItem[],
	changes: Partial<Flow>,
	budget: number,
	faults: ServiceFault[],
): World {
	const { flow } = one;
	return {
		...one,
		service: { ...calm(one), faults },
		flow: {
			...flow,
			model: 'aurora-image-1',
			as: 'node',
			items,
			extra: undefined,
			parkAfter: undefined,
			tries: 3,
			...changes,
			options: {
				...flow.options,
				concurrency: 1,
				timeout: 30,
				budget: Math.round(budget * 100) / 100,
			},
		},
	};
}

/** An execution fails with a part of its items paid for; its retry, in which all may change, begins anew. */
function retried(one: World, items: PlannedItem[]): World {
	const kind = Math.floor(one.seed / 64) % 2 > 0 ? ('retry' as const) : ('retryEdited' as const);
	const first: Act = { ...one.acts[0]!, stopAfter: undefined, crashAfter: undefined };
	const fault = { ...refused, kind: 'statusAfter' as const, skip: 1 };
	const made = tried(one, items, { tries: 1, onError: 'stopWorkflow' }, totalOf(items), [fault]);
	return { ...made, acts: [first, { kind, edit: 'account' }] };
}

/** Two calls for the same image wait for it, neither for long enough, and are made again at once. */
function calledAtOnce(one: World): World {
	const { flow, service } = one;
	const [first] = flow.items as [PlannedItem];
	return {
		...one,
		service: { ...service, lateSeconds: 0, failPercent: 0, taskSeconds: [3, 30], faults: [] },
		flow: {
			...flow,
			items: [first, ...flow.items.slice(0, 2)],
			mode: 'wait',
			maxWait: 5,
			again: 2,
			together: true,
		},
	};
}
