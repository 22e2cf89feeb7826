/** Generators of worlds. What comes first of several is what a shrunken world has. */
import fc from 'fast-check';
import type { ServiceFault, ServiceSetup } from '../service/service-setup.mjs';
import type { Act, Flow, PlannedItem, World } from './world.mjs';

const record = <T,>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
	fc.record(model, { noNullPrototype: true }) as unknown as fc.Arbitrary<T>;

const fault: fc.Arbitrary<ServiceFault> = record<ServiceFault>({
	call: fc.oneof(
		{
			weight: 5,
			arbitrary: fc.constantFrom('submit' as const, 'sync' as const, 'message' as const),
		},
		{
			weight: 4,
			arbitrary: fc.constantFrom('poll' as const, 'poll' as const, 'download' as const),
		},
		{ weight: 1, arbitrary: fc.constantFrom('listing' as const, 'any' as const) },
	),
	kind: fc.constantFrom(
		'status',
		'reset',
		'cut',
		'shape',
		'statusAfter',
		'refused',
		'unknownHost',
		'silence',
		'slow',
		'html',
		'drip',
		'redirect',
		'shape',
		'status',
	),
	skip: fc.nat(5),
	times: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom(10, 1000)),
	variant: fc.noBias(fc.nat(200)),
});

const service: fc.Arbitrary<ServiceSetup> = record<ServiceSetup>({
	ids: fc.constantFrom('random', 'perKind', 'digits', 'strange'),
	taskSeconds: fc.constantFrom<[number, number]>([0, 0], [1, 5], [3, 30], [0, 200], [90, 400]),
	lateSeconds: fc.oneof(
		{ weight: 3, arbitrary: fc.constant(0) },
		{ weight: 1, arbitrary: fc.constantFrom(1, 3, 10) },
	),
	syncSeconds: fc.constantFrom(0, 2, 20),
	failPercent: fc.constantFrom(0, 0, 0, 20, 60),
	spelling: fc.nat(30),
	latencyMs: fc.constantFrom(0, 20, 500),
	perSecond: fc.constantFrom(0, 0, 0, 2, 10),
	foreignHost: fc.boolean(),
	faults: fc.array(fault, { maxLength: 3 }),
});

const PROMPTS = [
	'a fox',
	'an owl',
	'a hare',
	'a mole',
	'canceled subscriptions',
	'größer — 👾 "x"',
];

const item: fc.Arbitrary<PlannedItem> = record<PlannedItem>({
	prompt: fc.constantFrom(...PROMPTS),
	n: fc.constantFrom(1, 1, 1, 2, 3),
	kind: fc.constantFrom('generation', 'edit'),
});

const options: fc.Arbitrary<Record<string, unknown>> = fc.record(
	{
		concurrency: fc.constantFrom(1, 2, 10, 100),
		requestsPerSecond: fc.constantFrom(0, 0.5, 1, 20),
		timeout: fc.constantFrom(1, 5, 30, 3600),
		checkLimits: fc.boolean(),
		asyncFlag: fc.constantFrom('query', 'header', 'body'),
		budget: fc.constantFrom(0, 0.1, 100),
		onTimeout: fc.constantFrom('error', 'output'),
		imageFieldName: fc.constantFrom('image', 'image[]'),
	},
	{ requiredKeys: [], noNullPrototype: true },
);

const flow: fc.Arbitrary<Flow> = record<Flow>({
	make: fc.constantFrom('generation', 'edit', 'message', 'nothing', 'generation'),
	mode: fc.constantFrom('sync', 'wait', 'submit'),
	collect: fc.constantFrom('imageWait', 'imageTask', 'none'),
	items: fc.array(item, { minLength: 1, maxLength: 5 }),
	as: fc.constantFrom('node', 'node', 'loop', 'engineTool', 'subNodeTool'),
	rounds: fc.integer({ min: 1, max: 3 }),
	again: fc.integer({ min: 0, max: 2 }),
	onError: fc.constantFrom('stopWorkflow', 'continueRegularOutput', 'continueErrorOutput'),
	tries: fc.constantFrom(1, 1, 2, 3, 5),
	options,
	pollInterval: fc.constantFrom(3, 1, 20),
	maxWait: fc.constantFrom(600, 60, 5, 1),
	download: fc.boolean(),
	parkAfter: fc.constantFrom(undefined, undefined, undefined, 0, 10, 60),
	account: fc.constantFrom(0, 1),
	trouble: fc.oneof(
		{ weight: 20, arbitrary: fc.constant('none' as const) },
		{
			weight: 1,
			arbitrary: fc.constantFrom(
				'placeholderKey' as const,
				'noAddress' as const,
				'badOption' as const,
				'badPollInterval' as const,
				'wrongKey' as const,
			),
		},
	),
}).map((one) => ({
	...one,
	collect: one.make === 'nothing' && one.collect === 'none' ? 'imageWait' : one.collect,
	// The engine has no error output for a tool, and loses what it brings.
	onError:
		one.as.endsWith('Tool') && one.onError === 'continueErrorOutput'
			? 'continueRegularOutput'
			: one.onError,
}));

const sometimes = (max: number) =>
	fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(max) });

const acts: fc.Arbitrary<Act[]> = fc
	.tuple(
		record<Act>({
			kind: fc.constant('run'),
			stopAfter: sometimes(12),
			crashAfter: sometimes(12),
		}),
		fc.array(
			record<Act>({
				kind: fc.constantFrom('retry', 'retryEdited'),
				stopAfter: fc.constant(undefined),
				crashAfter: fc.constant(undefined),
			}),
			{ maxLength: 2 },
		),
	)
	.map(([first, others]) => [first, ...others]);

export const world: fc.Arbitrary<World> = record<World>({
	seed: fc.noShrink(fc.nat(0x7fffffff)),
	service,
	flow,
	acts,
});
