/** Generators of worlds. What comes first of several is what a shrunken world has. */
import fc from 'fast-check';
import type { ServiceFault, ServiceSetup } from '../service/service-setup.mjs';
import { likelier } from './likelier.mjs';
import { calmed } from './special/passing.mjs';
import { shifted } from './special/rows-that-shift.mjs';
import { wiredBack } from './special/wired-back.mjs';
import type { Action, Back, CheckEnd, Flow, PlannedItem, Shift, World } from './world.mjs';

const record = <T,>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
	fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;

const fault: fc.Arbitrary<ServiceFault> = record<ServiceFault>({
	call: fc.oneof(
		{ weight: 5, arbitrary: fc.constant('paid' as const) },
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
		'status',
	),
	skip: fc.nat(5),
	times: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constantFrom(10, 1000)),
	variant: fc.noBias(fc.nat(200)),
});

/** Seconds that are longer than anybody waits, and between two polls of such a task. */
const LONG = 900;
const SLOW = 20;

const service: fc.Arbitrary<ServiceSetup> = record<ServiceSetup>({
	ids: fc.constantFrom('random', 'digits', 'strange'),
	taskSeconds: fc.oneof(
		{
			weight: 12,
			arbitrary: fc.constantFrom<[number, number]>([0, 0], [1, 5], [3, 30], [0, 200], [90, 400]),
		},
		{ weight: 1, arbitrary: fc.constant<[number, number]>([LONG, 4000]) },
	),
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
	inline: fc.constantFrom(false, false, false, false, false, true),
	faults: fc.array(fault, { maxLength: 3 }),
	keys: fc.constantFrom('none', 'none', 'none', 'honored', 'honored', 'forgotten', 'ignored'),
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
	file: fc.nat(2),
});

const options: fc.Arbitrary<Record<string, unknown>> = fc.record(
	{
		concurrency: fc.constantFrom(1, 2, 10, 100),
		requestsPerSecond: fc.constantFrom(0, 0.5, 1, 20),
		timeout: fc.constantFrom(1, 5, 30, 3600),
		checkLimits: fc.boolean(),
		asyncFlag: fc.constantFrom('query', 'header', 'body'),
		budget: fc.constantFrom(0.04, 0.1, 100, 0.2),
		onTimeout: fc.constantFrom('error', 'output'),
		imageFieldName: fc.constantFrom('image', 'image[]'),
	},
	{ requiredKeys: [], noNullPrototype: true },
);

const oneIn = <T,>(count: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
	fc.oneof({ weight: count - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const sometimes = (max: number) => oneIn(6, fc.nat(max));

const flow: fc.Arbitrary<Flow> = record<Flow>({
	make: fc.oneof(
		{ weight: 6, arbitrary: fc.constant('generation' as const) },
		{ weight: 3, arbitrary: fc.constant('edit' as const) },
		{ weight: 2, arbitrary: fc.constant('message' as const) },
		{ weight: 2, arbitrary: fc.constant('nothing' as const) },
	),
	model: fc.constantFrom('aurora-image-1', 'aurora-image-1', 'borealis'),
	mode: fc.constantFrom('sync', 'wait', 'submit'),
	collect: fc.constantFrom('imageWait', 'imageTask', 'none'),
	items: fc.array(item, { minLength: 1, maxLength: 5 }),
	as: fc.constantFrom('node', 'node', 'node', 'node', 'loop', 'engineTool', 'subNodeTool'),
	rounds: fc.integer({ min: 1, max: 3 }),
	again: fc.integer({ min: 0, max: 2 }),
	together: fc.boolean(),
	onError: fc.constantFrom('stopWorkflow', 'continueRegularOutput', 'continueErrorOutput'),
	tries: fc.constantFrom(1, 1, 2, 3, 5),
	options,
	countedBy: fc.constant('n'),
	editFrom: fc.constantFrom('binary', 'binary', 'url'),
	fileShift: fc.constant(0),
	isListedApart: fc.boolean(),
	savesProgress: fc.boolean(),
	pollInterval: fc.constantFrom(3, 1, 20),
	maxWait: fc.constantFrom(600, 60, 5, 1),
	download: fc.boolean(),
	isStored: fc.constantFrom(false, false, true),
	production: fc.boolean(),
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
}).map(possible);

/** The same flow, as far as n8n allows it. */
function possible(one: Flow): Flow {
	const noTool = one.onError === 'continueErrorOutput' ? 'continueRegularOutput' : one.onError;
	const collect = one.make === 'nothing' && one.collect === 'none' ? 'imageWait' : one.collect;
	return {
		...one,
		collect,
		// The engine has no error output for a tool, and loses what it brings.
		onError: one.as.endsWith('Tool') ? noTool : one.onError,
	};
}

/** What a user does once an execution has failed. */
const retry: fc.Arbitrary<Action> = fc.record<Action>({
	kind: fc.constantFrom('retry', 'retryEdited'),
	edit: fc.constantFrom('prompt', 'account', 'kind', 'model', 'file'),
});

/** Another execution of the same workflow. */
const next: fc.Arbitrary<Action> = fc.record<Action>({
	kind: fc.constant('next'),
	pause: fc.constantFrom(0, 1, 60, 86_400),
	edit: fc.constant('prompt'),
});

const actions: fc.Arbitrary<Action[]> = fc
	.tuple(
		record<Action>({
			kind: fc.constant('run'),
			edit: fc.constant('prompt'),
			stopAfter: sometimes(12),
			crashAfter: sometimes(12),
		}),
		fc.array(fc.oneof({ weight: 5, arbitrary: retry }, { weight: 1, arbitrary: next }), {
			maxLength: 2,
		}),
	)
	.map(([first, others]) => [first, ...others]);

const checks: fc.Arbitrary<CheckEnd[]> = fc.array(
	fc.constantFrom<CheckEnd>('well', 'well', 'well', 'output', 'output', 'startup', 'error', 'stop'),
	{ maxLength: 4 },
);

const shift: fc.Arbitrary<Shift> = record<Shift>({
	crashAfter: fc.integer({ min: 1, max: 10 }),
	pause: fc.constantFrom(1, 20, 300),
	order: fc.constantFrom('same', 'reversed', 'rotated'),
	front: fc.option(item, { nil: undefined }),
});

const back: fc.Arbitrary<Back> = record<Back>({
	cause: fc.constantFrom('none', 'refused', 'lost', 'taskFails', 'tooSlow', 'noImage'),
	rounds: fc.integer({ min: 1, max: 6 }),
	waitsOnWay: fc.boolean(),
});

/** Of which each part fits for itself. */
const parts: fc.Arbitrary<World> = record<World>({
	seed: fc.noShrink(fc.nat(0x7fffffff)),
	service,
	flow,
	actions,
	checks,
	shift: oneIn(12, shift),
	back: oneIn(8, back),
});

export const world: fc.Arbitrary<World> = parts
	.map(wiredBack)
	.map(fitting)
	.map(calmed)
	.map(shifted);

/** The same world, with faults that strike, and changes that matter. */
function fitting(one: World): World {
	// A fault of a request that is never made would be wasted.
	const faults = one.service.faults.map((fault) => {
		const isMade =
			(fault.call !== 'poll' || polls(one.flow)) &&
			(fault.call !== 'download' || (one.flow.download && loads(one.flow)));
		const call = isMade ? fault.call : 'paid';
		return likelier({ ...fault, call });
	});
	// What an edit is most easily mistaken for is the same one of another file.
	const takesFiles = one.flow.make === 'edit' && one.flow.editFrom === 'url';
	const changed = one.actions.map((action, place) =>
		takesFiles && (one.seed + place) % 2 > 0 ? { ...action, edit: 'file' as const } : action,
	);
	// Polled every second, a task that takes an hour would take thousands of requests.
	const isLong = one.service.taskSeconds[0] >= LONG;
	const patient = isLong ? { ...one.flow, pollInterval: SLOW } : one.flow;
	const countedBy = (['n', 'n', 'num_images', 'n', 'batch_size'] as const)[one.seed % 5]!;
	return {
		...one,
		flow: { ...patient, countedBy },
		actions: changed,
		service: { ...one.service, faults },
	};
}

const isImage = ({ make }: Flow): boolean => make === 'generation' || make === 'edit';

const polls = (flow: Flow): boolean =>
	flow.make === 'nothing' ||
	(isImage(flow) && (flow.mode === 'wait' || (flow.mode === 'submit' && flow.collect !== 'none')));

const loads = (flow: Flow): boolean => flow.make === 'nothing' || isImage(flow);
