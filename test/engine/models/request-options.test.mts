/** Every option that is a field of an image request is sent, checked, and refused where it is set twice. */
import '../fast-time.mjs';
import type { IDataObject } from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { TaskType } from '../../../gateway/protocol/taskType.js';
import { REQUEST_OPTIONS, type RequestOption } from '../../../nodes/shared/fields/optionFields.js';
import { startGateway } from '../../../simulator/gateway.mjs';
import type { Host, RunResult } from '../../../harness/engine/host.mjs';
import { errorOf, filesNode, runChain } from '../one-node.mjs';
import { opened } from '../opened.mjs';
import { byName, hostFor, NODE, TINY_PNG } from '../workbench.mjs';

const TYPES = { generation: 'imageGeneration', edit: 'imageEdit' };
const OPTIONS = (['generation', 'edit'] as const).flatMap((taskType) =>
	REQUEST_OPTIONS[taskType].map((option) => [taskType, option.name, option] as const),
);

/** A model that takes one value of each such field, which no test sends. */
const STRICT = {
	model: 'strict',
	media_type: 'image',
	modes: ['text_to_image', 'image_edit'],
	parameters: Object.fromEntries(OPTIONS.map(([, , { sentAs }]) => [sentAs, [977]])),
};

let host: Host;
beforeAll(async () => {
	const gateway = await opened(startGateway({ models: [STRICT] }));
	host = await hostFor({ baseUrl: gateway.url }, { extraNodeTypes: filesNode });
});

/** A value that the form of an option can hold. */
const valueOf = ({ type, options = [] }: RequestOption): unknown => {
	if (type === 'options') return (options[0] as { value: string }).value;
	return type === 'boolean' ? true : type === 'number' ? 7 : 'a text';
};

async function dryRun(
	taskType: TaskType,
	options: object,
	parameters: object = {},
): Promise<RunResult> {
	const files = { data: { bytes: TINY_PNG, mimeType: 'image/png', fileName: 'a.png' } };
	const all = { model: byName('strict'), prompt: 'a fox', ...parameters };
	return await runChain(
		host,
		[{ files }],
		[{ type: TYPES[taskType], parameters: { ...all, options: { dryRun: true, ...options } } }],
	);
}

/** What would be sent, by name; the fields of a form are texts. */
function sentBy(result: RunResult): IDataObject {
	const { body, form } = result.json(NODE)[0]?.request as {
		body?: object;
		form?: { fields: object };
	};
	return { ...body, ...form?.fields };
}

describe.each(['generation', 'edit'] as const)('the options of the task %s', (taskType) => {
	const all = REQUEST_OPTIONS[taskType];

	test('are sent, and held against what the model takes', async () => {
		const result = await dryRun(
			taskType,
			Object.fromEntries(all.map((option) => [option.name, valueOf(option)])),
		);
		const sent = sentBy(result);
		for (const option of all) {
			const value = sent[option.sentAs];
			expect(taskType === 'edit' ? value : String(value)).toBe(String(valueOf(option)));
		}
		const { violations } = result.json(NODE)[0]?.checks as { violations: string[] };
		expect(violations).toHaveLength(all.length);
		expect(violations).toEqual(all.map(() => expect.stringMatching(/ is .*; allowed: 977$/)));
	});

	test.each([
		['not set', () => ({})],
		['empty', () => Object.fromEntries(all.map(({ name }) => [name, '']))],
	])('are not sent where they are %s', async (_, options) => {
		const sent = Object.keys(sentBy(await dryRun(taskType, options())));
		expect(sent.filter((name) => all.some(({ sentAs }) => sentAs === name))).toEqual([]);
	});
});

test.each(OPTIONS.filter(([taskType]) => taskType === 'generation'))(
	'%s, %s: another value in the form of the model is an error',
	async (taskType, name, option) => {
		const modelParameters = { mappingMode: 'defineBelow', value: { [option.sentAs]: 3 } };
		const result = await dryRun(taskType, { [name]: valueOf(option) }, { modelParameters });
		expect(errorOf(result).message).toContain(
			`The ${option.displayName.toLowerCase()} is set twice`,
		);
	},
);
