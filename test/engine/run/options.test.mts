/** Options out of range, and the nodes as tools of an agent. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { builtNodes } from '../../unit/repository/built-nodes.mjs';
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, NODE, TINY_PNG, type NodeName } from '../workbench.mjs';

const bench = sharedBench();

const ODD: Array<[string, unknown]> = [
	['0', 0],
	['a negative number', -5],
	['a fraction', 0.1],
	['a million', 1_000_000],
	['beyond all numbers', 1e308],
	['a number as text', '2'],
	['nothing', '={{ undefined }}'],
	['null', '={{ null }}'],
	['an empty text', ''],
	['NaN', '={{ NaN }}'],
	['Infinity', '={{ Infinity }}'],
	['a word', 'many'],
	['an object', '={{ ({ a: 1 }) }}'],
	['a list', '={{ [1, 2] }}'],
	['true', true],
];

/** What each node needs besides the number under test, and how many items it then puts out. */
const NODES: Array<[className: string, NodeName, IDataObject, items: number]> = [
	['ImageGeneration', 'imageGeneration', { prompt: '={{ $json.prompt }}', mode: 'wait' }, 2],
	['ImageTask', 'imageTask', {}, 2],
	['ImageWait', 'imageWait', {}, 2],
	['MediaModels', 'mediaModels', {}, 1],
	['Message', 'message', { model: 'reason-large', prompt: 'hello', thinking: 'enabled' }, 2],
];

/**
 * The numbers that the nodes declare, each once: its node with the basic parameters, its name and
 * label.
 */
const ALL_NUMBERS = NODES.flatMap(([className, type, basics, items]) => {
	const { properties } = builtNodes().find((one) => one.className === className)!.description;
	const options = (properties.find(({ name }) => name === 'options')?.options ??
		[]) as typeof properties;
	const numbers = (of: typeof properties) => of.filter((property) => property.type === 'number');
	return [
		...numbers(properties).map((number) => ({ number, isOption: false })),
		...numbers(options).map((number) => ({ number, isOption: true })),
	].map(({ number: { name, displayName }, isOption }) => ({
		type,
		basics,
		items,
		name,
		label: displayName,
		isOption,
	}));
});

const NUMBERS = ALL_NUMBERS.filter(
	({ name, isOption }, index) =>
		ALL_NUMBERS.findIndex((other) => other.name === name && other.isOption === isOption) === index,
);

describe.each(NUMBERS)(
	'the number $name of $type',
	({ type, basics, items, name, label, isOption }) => {
		test.each(ODD)('%s: works, or says what is wrong and pays nothing', async (_, value) => {
			const prompts = ['a fox', 'an owl'];
			const ids = /imageTask|imageWait/.test(type) ? await bench.submit(...prompts) : [];
			const before = bench.gateway.paid;
			const result = await bench.run(
				type,
				{
					...basics,
					...(type === 'imageWait' ? { maxWait: 60 } : {}),
					...(isOption ? { options: { maxWait: 60, [name]: value } } : { [name]: value }),
				},
				prompts.map((prompt, index) => ({ prompt, taskId: ids[index] ?? null })),
			);
			if (result.error === undefined) {
				expect(result.output(NODE).length).toBeGreaterThanOrEqual(items);
				return;
			}
			const { message, description } = result.error as { message: string; description?: string };
			if (message.includes(`'${label}' must be a`)) {
				expect(description).toMatch(/It is .*Nothing was sent/);
				expect(bench.gateway.paid).toBe(before);
				return;
			}
			// What is only known afterwards is allowed to fail afterwards: a deadline, a size, a refusal.
			expect(message).toMatch(/larger than|still open|exceeds the budget|must be less than/);
		});
	},
);

test.each([
	['Timeout (Seconds)', { timeout: 0 }],
	['Timeout (Seconds)', { timeout: -1 }],
	['Timeout (Seconds)', { timeout: 0.5 }],
	['Timeout (Seconds)', { timeout: 7200 }],
	['Timeout (Seconds)', { timeout: '={{ true }}' }],
	['Timeout (Seconds)', { timeout: '={{ [30] }}' }],
	['Max Wait (Seconds)', { maxWait: 0 }],
	['Max Wait (Seconds)', { maxWait: -600 }],
	['Max Download Size (MB)', { maxDownloadMb: 0 }],
	['Requests per Second', { requestsPerSecond: -1 }],
	['Concurrency', { concurrency: 0 }],
	['Poll Interval (Seconds)', { pollInterval: 7200 }],
])('%s outside its range is refused: %j', async (label, options) => {
	const result = await bench.run('imageGeneration', { prompt: 'a fox', mode: 'wait', options });
	expect(result.error?.message).toMatch(`'${label}' must be a number from `);
	expect(bench.gateway.requests).toEqual([]);
});

test('a limit without an end is told as such', async () => {
	const result = await bench.run('mediaModels', { limit: 0 });
	expect(result.error?.message).toBe("'Limit' must be a whole number of at least 1");
});

/** A parameter or option of a node: what the node needs beside it, its place, name, label and kind. */
interface Field {
	type: NodeName;
	beside: IDataObject;
	place: string;
	name: string;
	label: string;
	kind: string;
	values: string[];
}

/** What is shown only beside other values. */
const BESIDE: Record<string, IDataObject> = {
	budgetTokens: { thinking: 'enabled' },
	display: { thinking: 'adaptive' },
	format: { simplify: false },
	images: { input: 'image' },
	imageBinaryProperty: { imageSource: 'binary' },
	messagesJson: { input: 'json' },
	parkAfter: { options: { surviveRestarts: true } },
};

const EDIT = {
	prompt: 'an owl',
	imageSource: 'url',
	imageUrl: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
};

/** Lists to choose from that take any other text by expression. */
const OPEN_CHOICES = ['mediaModels.mode'];

/** Every parameter and option that the nodes declare and an expression can set, each once. */
const FIELDS = NODES.concat([['ImageEdit', 'imageEdit', EDIT, 1]])
	.flatMap(([className, type, basics]) => {
		const { properties } = builtNodes().find((one) => one.className === className)!.description;
		return ['', 'options', 'filters'].flatMap((place) => {
			const within = properties.find(({ name }) => name === place)?.options ?? [];
			return (place === '' ? properties : (within as typeof properties))
				.filter(({ noDataExpression }) => noDataExpression !== true)
				.map(
					(property): Field => ({
						type,
						beside: { ...basics, taskId: 'task_1', prompt: 'a fox' },
						place,
						name: property.name,
						label: property.displayName,
						kind: OPEN_CHOICES.includes(`${type}.${property.name}`) ? 'string' : property.type,
						values: (property.options ?? []).map((option) => String(Object(option).value)),
					}),
				);
		});
	})
	.filter(({ kind }) => /^(string|number|boolean|options|json|resourceLocator)$/.test(kind))
	.filter(
		({ place, name, label }, index, all) =>
			all.findIndex(
				(one) => [one.place, one.name, one.label].join() === [place, name, label].join(),
			) === index,
	);

/** What an expression may give by mistake, and what the error calls it; the kinds that accept it. */
const MISTAKES: Array<[value: string, shown: string, accepting: RegExp]> = [
	['={{ [[1]] }}', 'a list', /^json$/],
	['={{ ({ a: 1 }) }}', 'an object', /^json$/],
	['={{ true }}', 'true', /^boolean$/],
	['={{ NaN }}', 'NaN', /^$/],
	['={{ new Date(0) }}', 'a date', /^$/],
	['={{ "[object Object]" }}', 'an object', /^$/],
	['={{ "blue".repeat(1250) }}', `${'blue'.repeat(10)}…`, /^(string|resourceLocator)$/],
	['={{ "{ a: " }}', '{ a:', /^(string|resourceLocator)$/],
];

describe.each(FIELDS)('$label of $type', ({ type, beside, place, name, label, kind, values }) => {
	test.each(MISTAKES)(
		'%s: the error names it, and nothing is sent',
		async (value, shown, accepting) => {
			if (accepting.test(kind)) return;
			const around = { ...beside, ...BESIDE[name] };
			const given = kind === 'resourceLocator' ? byName(value) : value;
			const result = await bench.run(type, {
				...around,
				...(place === ''
					? { [name]: given }
					: { [place]: { ...Object(around[place]), [name]: given } }),
			});
			const { message, description = '' } = Object(result.error) as {
				message?: string;
				description?: string;
			};
			expect(`${message} ${description}`).toContain(`'${label}'`);
			expect(description).toContain(`It is ${shown}.`);
			if (kind === 'options') values.forEach((known) => expect(message).toContain(known));
			expect(description).toMatch(/Nothing was sent\.$/);
			expect(message + description).not.toMatch(/\[object Object\]|Infinity/);
			expect((message + description).length).toBeLessThan(400);
			expect(bench.gateway.requests.filter(({ call }) => call !== 'listing')).toEqual([]);
		},
	);
});

test.each<[string, IDataObject]>([
	['Extra Fields', { options: { extraFields: '={{ ({ seed: NaN }) }}' } }],
	['Model Parameters', { modelParameters: { value: { seed: '={{ NaN }}' } } }],
	[
		'Parameters by Name',
		{ options: { parametersByName: { parameter: [{ name: 'seed', value: '={{ [NaN] }}' }] } } },
	],
])('a value in %s that JSON would replace by null is refused', async (label, parameters) => {
	const result = await bench.run('imageGeneration', { prompt: 'a fox', ...parameters });
	expect(result.error?.message).toBe(`The value of 'seed' in '${label}' can't be sent`);
	expect(bench.gateway.paid).toBe(0);
});

test('a long task ID is shortened in the error', async () => {
	const result = await bench.run('imageTask', { taskId: 'x'.repeat(5000) });
	expect(result.error?.message.length).toBeLessThan(500);
});

test('options that are no numbers', async () => {
	const wrong: Array<[IDataObject, RegExp]> = [
		[{ extraFields: '{ "a": ' }, /'Extra Fields' must be a JSON object/],
		[{ extraFields: '"text"' }, /'Extra Fields' must be a JSON object/],
		[{ extraFields: '[1]' }, /'Extra Fields' must be a JSON object/],
		[{ extraFields: 'null' }, /'Extra Fields' must be a JSON object/],
	];
	for (const [options, message] of wrong) {
		const result = await bench.run('imageGeneration', { prompt: 'a fox', options });
		expect(result.error?.message).toMatch(message);
	}
	expect(bench.gateway.paid).toBe(0);
	// What stands for nothing.
	for (const options of [{ extraFields: '' }, { extraFields: '{}' }]) {
		expect(
			(await bench.run('imageGeneration', { prompt: 'a fox', options })).error,
		).toBeUndefined();
	}
});

describe('as a tool of an agent', () => {
	const generate = async (args: IDataObject, parameters: object = {}, node = {}) =>
		await bench.host.runAsTool(
			'n8n-nodes-media-gateway.imageGeneration',
			{
				model: byName(MODEL),
				prompt: "={{ $fromAI('prompt', 'what is to be seen', 'string') }}",
				...parameters,
			},
			{ args, node },
		);

	test('it gets the address, and no binary data', async () => {
		const [answer] = JSON.parse(await generate({ prompt: 'a fox' })) as IDataObject[];
		expect(answer).toMatchObject({ prompt: 'a fox', model: MODEL });
		expect((await fetch(String(answer!.url))).headers.get('content-type')).toBe('image/png');
		expect(bench.gateway.paidByPrompt).toEqual({ 'a fox': 1 });
		// The one download is this test's own.
		expect(bench.gateway.count('download')).toBe(1);
	});

	test('tasks are waited for and asked about', async () => {
		const [waited] = JSON.parse(
			await generate({ prompt: 'an owl' }, { mode: 'wait', options: { pollInterval: 1 } }),
		) as IDataObject[];
		expect(waited).toMatchObject({ prompt: 'an owl', status: 'completed' });
		for (const node of ['imageTask', 'imageWait']) {
			const answer = await bench.host.runAsTool(
				`n8n-nodes-media-gateway.${node}`,
				{ taskId: "={{ $fromAI('id', 'the task', 'string') }}" },
				{ args: { id: String(waited!.taskId) } },
			);
			expect(JSON.parse(answer)).toEqual([expect.objectContaining({ taskId: waited!.taskId })]);
		}
		expect(bench.gateway.count('download')).toBe(0);
	});

	test('an error is told to the agent in words', async () => {
		const asked = bench.host.runAsTool('n8n-nodes-media-gateway.imageTask', {
			taskId: 'task_none',
		});
		const text = await asked.catch((error: Error) => error.message);
		expect(text).toMatch(/The gateway has no task task_none \(404\)/);
	});
});
