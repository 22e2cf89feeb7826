/** Worlds in which status checks have to wait for their turn, or are refused for their rate. */
import { survives } from '../../execution/workflow.mjs';
import type { ServiceFault } from '../../service/service-setup.mjs';
import { waits } from './out-of-sight.mjs';
import type { PlannedItem, World } from '../world.mjs';

/** One world in so many is of either kind. */
const ONE_IN = 16;
const IS_CROWDED = 11;
const HAS_TWINS = 7;

/**
 * One request at a time, behind a download that takes longer than all deadlines; polls that are only
 * refused for their rate; the response to the last poll comes just after the deadline.
 */
const KINDS = ['download', 'refused', 'late'] as const;

/** The variants of a slow response that takes 1.5 s or 90 s, and of a 429 that asks for no pause. */
const SLOW = 0;
const SLOWEST = 2;
const SAYS_429 = 10;

/** The same world; of some, requests hold each other up until after the deadlines. */
export function crowded(one: World): World {
	const { flow, service, seed } = one;
	if (seed % ONE_IN === HAS_TWINS && flow.make === 'nothing') return withTwins(one);
	const place = Math.floor(seed / ONE_IN);
	const kind = KINDS[place % KINDS.length]!;
	if (seed % ONE_IN !== IS_CROWDED || !waits(flow) || survives(flow)) return one;
	const items = [...flow.items, ...flow.items, ...flow.items, ...flow.items].slice(0, 4);
	const same = {
		...flow,
		items: items as PlannedItem[],
		as: flow.as === 'loop' ? ('node' as const) : flow.as,
		onError: 'continueRegularOutput' as const,
		tries: 1,
		maxWait: Math.floor(place / KINDS.length) % 3 > 0 ? 5 : 1,
		trouble: 'none' as const,
	};
	const { timeout: _, requestsPerSecond: __, ...options } = flow.options;
	const isDownload = kind === 'download';
	const fault: ServiceFault = {
		call: isDownload ? 'download' : 'poll',
		kind: kind === 'refused' ? 'status' : 'slow',
		skip: 0,
		times: isDownload ? 1 : kind === 'refused' ? 2 * items.length + (place % 7) : 1000,
		variant: kind === 'refused' ? SAYS_429 : isDownload ? SLOWEST : SLOW,
	};
	return {
		...one,
		flow: isDownload
			? { ...same, download: true, options: { ...options, concurrency: 1 } }
			: { ...same, options },
		service: {
			...service,
			taskSeconds: isDownload ? [0, 20] : [3, 30],
			inline: false,
			lateSeconds: 0,
			faults: [fault],
		},
	};
}

/** Some of its items are about one task, and whoever waits for them counts it once. */
function withTwins(one: World): World {
	const { flow } = one;
	const items = [...flow.items, ...flow.items].slice(0, Math.max(2, flow.items.length));
	return {
		...one,
		flow: {
			...flow,
			items: items.map((item, place) => ({ ...item, isTwin: place % 2 > 0 })),
			as: 'node',
			collect: 'imageWait',
			tries: 1,
			parkAfter: undefined,
			options: { ...flow.options, addSummary: true },
		},
	};
}
