/** Options out of range, and the nodes as tools of an agent. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import { builtNodes } from '../../unit/repository/built-nodes.mjs';
import { sharedBench } from '../opened.mjs';
import { byName, MODEL, TINY_PNG, type NodeName } from '../workbench.mjs';

const bench = sharedBench();

test.each([
	['Timeout (Seconds)', { timeout: 7200 }],
	['Timeout (Seconds)', { timeout: 1e308 }],
	['Max Wait (Seconds)', { maxWait: -600 }],
	['Requests per Second', { requestsPerSecond: -1 }],
	['Concurrency', { concurrency: 0 }],
	['Poll Interval (Seconds)', { pollInterval: 7200 }],
])('%s outside its range is refused: %j', async (label, options) => {
	const result = await bench.run('imageGeneration', { prompt: 'a fox', mode: 'wait', options });
	expect(result.error?.message).toMatch(`'${label}' must be a number from `);
	expect(bench.gateway.requests).toEqual([]);
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
	streamResponse: { mode: 'sync' },
	budgetTokens: { thinking: 'enabled' },
	display: { thinking: 'adaptive' },
	format: { simplify: false },
	images: { input: 'image' },
};

const EDIT = {
	prompt: 'an owl',
	images: `data:image/png;base64,${TINY_PNG.toString('base64')}`,
};

/** What each node needs besides the field under test. */
const NODES: Array<[className: string, NodeName, IDataObject]> = [
	['ImageGeneration', 'imageGeneration', { prompt: '={{ $json.prompt }}', mode: 'wait' }],
	['ImageTask', 'imageTask', {}],
	['ImageWait', 'imageWait', {}],
	['MediaModels', 'mediaModels', {}],
	['Message', 'message', { model: 'reason-large', prompt: 'hello', thinking: 'enabled' }],
	['ImageEdit', 'imageEdit', EDIT],
];

/** Every parameter and option that the nodes declare and an expression can set, each once. */
const FIELDS = NODES.flatMap(([className, type, basics]) => {
	const { properties } = builtNodes().find((one) => one.className === className)!.description;
	return ['', 'options'].flatMap((place) => {
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
					kind: property.type,
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
	['={{ "blue".repeat(1250) }}', `${'blue'.repeat(10)}…`, /^(string|resourceLocator)$/],
	['={{ "{ a: " }}', '{ a:', /^(string|resourceLocator)$/],
];

/** Each field with one of the mistakes that its kind does not accept, in turn. */
const MISTAKEN = FIELDS.map((field, turn) => {
	const mistakes = MISTAKES.filter(([, , accepting]) => !accepting.test(field.kind));
	const [value, shown] = mistakes[turn % mistakes.length]!;
	return { ...field, value, shown };
});

test.each(MISTAKEN)(
	'$label of $type, $value: the error names it, and nothing is sent',
	async (field) => {
		const { type, beside, place, name, label, kind, values, value, shown } = field;
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

test.each<[string, IDataObject]>([
	['Extra Fields', { options: { extraFields: '={{ ({ seed: NaN }) }}' } }],
	['Model Parameters', { modelParameters: { value: { seed: '={{ NaN }}' } } }],
])('a value in %s that JSON would replace by null is refused', async (label, parameters) => {
	const result = await bench.run('imageGeneration', { prompt: 'a fox', ...parameters });
	expect(result.error?.message).toBe(`The value of 'seed' in '${label}' can't be sent`);
	expect(bench.gateway.paid).toBe(0);
});

test('every list of rows may have several', () => {
	const all = builtNodes().flatMap(({ description }) => description.properties);
	const fields = all.flatMap((field) => [field, ...(field.options ?? [])] as typeof all);
	const lists = fields.filter(({ type }) => type === 'fixedCollection');
	expect(lists.length).toBeGreaterThan(1);
	for (const { typeOptions } of lists) expect(typeOptions).toMatchObject({ multipleValues: true });
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
});
