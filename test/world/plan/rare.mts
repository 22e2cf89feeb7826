/**
 * Worlds with much of one trouble, which come up rarely otherwise: a Stop while a response drips, a
 * crash of a wait, five tries, a fault that strikes each time. All of them are possible worlds.
 */
import fc from 'fast-check';
import { retry } from './acts.mjs';
import { fault, fitting, parts, possible, record } from './arbitraries.mjs';
import type { ServiceFault, ServiceSetup } from '../service/service-setup.mjs';
import type { Act, Flow, World } from './world.mjs';

interface Changes {
	flow?: Partial<Flow>;
	service?: Partial<ServiceSetup>;
	first?: Partial<Act>;
	/** In place of the retries. */
	others?: Act[];
	options?: Record<string, unknown>;
}

const WRONG_BYTE = 7;

const faults = (kinds: Array<ServiceFault['kind']>): fc.Arbitrary<ServiceFault[]> =>
	fc.array(
		fc.tuple(fault, fc.constantFrom(...kinds)).map(([one, kind]) => ({ ...one, kind })),
		{ minLength: 1, maxLength: 3 },
	);

const stopped: fc.Arbitrary<Changes> = fc
	.tuple(fc.nat(12), faults(['drip', 'slow', 'silence', 'shape', 'cut', 'redirect', 'status']))
	.map(([stopAfter, some]) => ({
		flow: { onError: 'stopWorkflow', as: 'node', parkAfter: undefined },
		service: { faults: some },
		first: { stopAfter },
	}));

const crashed: fc.Arbitrary<Changes> = record({
	parkAfter: fc.constantFrom(0, 10, 60),
	make: fc.constantFrom('generation' as const, 'edit' as const, 'nothing' as const),
	mode: fc.constantFrom('wait' as const, 'wait' as const, 'submit' as const),
	as: fc.constantFrom('node' as const, 'node' as const, 'loop' as const),
	crashAfter: fc.option(fc.nat(12), { nil: undefined }),
	stopAfter: fc.option(fc.nat(12), { nil: undefined, freq: 2 }),
	taskSeconds: fc.constantFrom<[number, number]>([0, 200], [90, 400], [3, 30]),
}).map(({ crashAfter, stopAfter, taskSeconds, ...flow }) => ({
	flow: { ...flow, collect: 'imageWait' },
	service: { taskSeconds },
	first: crashAfter === undefined ? { stopAfter } : { crashAfter },
}));

const retried: fc.Arbitrary<Changes> = fc
	.tuple(
		fc.constantFrom(2, 3, 5),
		fc.array(retry, { minLength: 2, maxLength: 2 }),
		fc.array(fault, { minLength: 2, maxLength: 3 }),
	)
	.map(([tries, others, some]) => ({ flow: { tries }, others, service: { faults: some } }));

const asTool: fc.Arbitrary<Changes> = record({
	as: fc.constantFrom('engineTool' as const, 'subNodeTool' as const),
	again: fc.constantFrom(1, 2),
}).map((flow) => ({ flow }));

const late: fc.Arbitrary<Changes> = record({
	lateSeconds: fc.constantFrom(1, 3, 10, 1_000_000),
	perSecond: fc.constantFrom(0, 2, 10),
	failPercent: fc.constantFrom(0, 20, 60),
}).map((service) => ({ flow: { mode: 'wait' }, service }));

const slow: fc.Arbitrary<Changes> = fc
	.tuple(
		fc.constantFrom(1, 2, 10),
		fc.constantFrom(1, 5, 30),
		fc.constantFrom(1, 5, 60, 600),
		faults(['slow', 'drip', 'silence', 'slow', 'status']),
	)
	.map(([concurrency, timeout, maxWait, some]) => ({
		flow: { maxWait },
		options: { concurrency, timeout },
		service: { faults: some },
	}));

/** One fault of all requests, so that everything is met by it. */
const always: fc.Arbitrary<Changes> = record({
	call: fc.constantFrom('paid' as const, 'poll' as const, 'any' as const, 'download' as const),
	kind: fc.constantFrom<ServiceFault['kind'][]>(
		...(['shape', 'shape', 'cut', 'statusAfter', 'status', 'drip', 'slow'] as const),
		...(['html', 'redirect', 'reset'] as const),
	),
	skip: fc.constantFrom(0, 0, 1, 2),
	times: fc.constantFrom(1, 3, 1000, 1000),
	variant: fc.oneof(fc.noBias(fc.nat(200)), fc.constant(WRONG_BYTE)),
	inline: fc.boolean(),
}).map(({ inline, ...one }) => ({ service: { inline, faults: [one] } }));

export const rareWorld: fc.Arbitrary<World> = fc
	.tuple(parts, fc.oneof(stopped, crashed, retried, asTool, late, slow, always, always, always))
	.map(([world, { flow, service, first, others, options }]) => {
		const [run, ...retries] = world.acts as [Act, ...Act[]];
		const changed = { ...world.flow, ...flow, options: { ...world.flow.options, ...options } };
		return fitting({
			...world,
			flow: possible({ ...changed, dryRun: false }),
			service: { ...world.service, ...service },
			acts: [{ ...run, ...first }, ...(others ?? retries)],
		});
	});
