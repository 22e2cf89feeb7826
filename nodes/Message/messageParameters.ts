import {
	continueTurns,
	type MessageRequest,
	type MessageSettings,
	promptOf,
	readTurns,
	type Turn,
} from '../../gateway/messages';
import { isJsonObject, parseJson, withoutFields, type JsonObject } from '../../util/json';
import type { PayingField } from '../shared/fields/choices';
import {
	extraMessageFields,
	lengthFields,
	messageModelField,
	modelOptions,
} from '../shared/fields/messageFields';
import { optionsField, simplifyField } from '../shared/fields/optionFields';
import { isEmpty, shown, type ItemParameters } from '../shared/parameters/itemParameters';
import { readMessageSettings } from '../shared/parameters/messageSettings';
import { readExtraFields } from '../shared/parameters/requestFields';

/** The parameters of the Message node. */
export const messageFields: PayingField[] = [
	messageModelField,
	{
		displayName: 'Input',
		name: 'input',
		shapesRequest: true,
		type: 'options',
		noDataExpression: true,
		default: 'prompt',
		description: 'How to enter the conversation',
		options: [
			{ name: 'Messages', value: 'messages', description: 'One field for each message' },
			{
				name: 'Prompt',
				value: 'prompt',
				action: 'Message a model',
				description: 'A single user message',
			},
			{
				name: 'Prompt with Images',
				value: 'image',
				action: 'Analyze image',
				description: 'A single user message about images or PDF documents',
			},
		],
	},
	{
		displayName: 'Images',
		name: 'images',
		shapesRequest: true,
		type: 'string',
		default: 'data',
		required: true,
		placeholder: 'e.g. data',
		description:
			'Names of input binary fields or web addresses of images or PDF documents, separated by commas. The model gets them before the prompt. The gateway loads web addresses itself. Where an expression gives nothing, the prompt is sent alone.',
		displayOptions: { show: { input: ['image'] } },
	},
	{
		displayName: 'Prompt',
		name: 'prompt',
		shapesRequest: true,
		type: 'string',
		typeOptions: { rows: 4 },
		default: '',
		placeholder: 'e.g. Describe this product in two sentences',
		description:
			"Message to send to the model. Leave it empty to send 'History' alone: the model responds to the user's last message in it, or goes on with its own.",
		displayOptions: { show: { input: ['prompt'] } },
	},
	{
		displayName: 'Prompt',
		name: 'prompt',
		shapesRequest: true,
		type: 'string',
		typeOptions: { rows: 4 },
		default: '',
		placeholder: "e.g. What's in this image?",
		description: 'Message to send with the images. It may be empty.',
		displayOptions: { show: { input: ['image'] } },
	},
	{
		displayName: 'Messages',
		name: 'messages',
		shapesRequest: true,
		type: 'fixedCollection',
		typeOptions: { multipleValues: true, sortable: true },
		placeholder: 'Add Message',
		default: { message: [{ role: 'user', content: '' }] },
		description: 'Messages in order. The model responds to the last one.',
		displayOptions: { show: { input: ['messages'] } },
		options: [
			{
				name: 'message',
				displayName: 'Message',
				values: [
					{
						displayName: 'Role',
						name: 'role',
						type: 'options',
						default: 'user',
						description: 'Author of the message',
						options: [
							{ name: 'Assistant', value: 'assistant' },
							{ name: 'User', value: 'user' },
						],
					},
					{
						displayName: 'Content',
						name: 'content',
						type: 'string',
						typeOptions: { rows: 2 },
						default: '',
						placeholder: 'e.g. Make it shorter',
						description: 'Text of the message',
					},
				],
			},
		],
	},
	...lengthFields(
		'Maximum number of tokens in the response, including thinking. Use 1 for the smallest request that shows whether the key and the model work.',
	),
	simplifyField,
	optionsField(
		['concurrency', 'requestsPerSecond', 'timeout'],
		[
			...modelOptions,
			extraMessageFields,
			{
				displayName: 'History',
				name: 'history',
				shapesRequest: true,
				type: 'json',
				default: '={{ $json.messages }}',
				placeholder: 'e.g. {{ $json.messages }}',
				description:
					'The conversation so far: the output "messages" of an earlier Message node, or a list of messages with "role" and "content" (text, or a list of blocks). Thinking blocks are sent back unchanged.',
			},
			{
				displayName: 'Output Content as JSON',
				name: 'outputJson',
				type: 'boolean',
				default: true,
				description:
					'Whether to return the JSON in the response in a field of its own, also from a code fence. Ask for JSON in the prompt: a response without JSON is charged too, and is an error with its text.',
				hint: "For JSON of a given shape, use n8n's 'Basic LLM Chain' with 'Media Gateway Chat Model' and 'Structured Output Parser'.",
			},
			{
				displayName: 'System Prompt',
				name: 'system',
				shapesRequest: true,
				type: 'string',
				typeOptions: { rows: 3 },
				default: '',
				placeholder: 'e.g. You write for a toy shop',
				description: 'Instructions for the whole conversation',
			},
		],
	),
];

const INPUTS = ['prompt', 'image', 'messages'] as const;

/** How the conversation of an item is entered. */
export const readInputKind = (item: ItemParameters): (typeof INPUTS)[number] =>
	item.choice('input', 'Input', INPUTS);

/** The request of an item before its files are read. */
interface MessageDraft {
	settings: MessageSettings;
	/** The conversation so far. */
	history: Turn[];
	/** What the item adds to it. */
	added: Turn[];
}

/**
 * Reads the request of an item from its parameters.
 *
 * @throws NodeOperationError that names the parameter to correct
 */
export function readMessageDraft(item: ItemParameters): MessageDraft {
	const extraFields = readExtraFields(item);
	const given = item.options.value('history');
	const setsMessages = Object.hasOwn(extraFields, 'messages');
	if (setsMessages && readInputKind(item) === 'image') {
		throw item.refusal(
			"'Extra Fields' must not set 'messages' beside 'Images'",
			"The images wouldn't be sent. Put the other messages into 'History'.",
		);
	}
	const isNew = setsMessages || isEmpty(given);
	const history = isNew ? [] : readConversation(item, 'History', given);
	return {
		settings: {
			...readMessageSettings(item, extraFields),
			system: item.options.optionalText('system', 'System Prompt'),
			extraFields: withoutFields(extraFields, ['model', 'messages']),
		},
		history,
		added: setsMessages
			? readConversation(item, 'messages in Extra Fields', extraFields.messages, true)
			: readInput(item, history),
	};
}

/** The prompt of an item, for its error: that of the history where it adds nothing. */
export const promptIn = ({ history, added }: MessageDraft): string | undefined =>
	promptOf(added.length === 0 ? history : added);

/**
 * The request of an item. A response without text in its history, such as a refusal, isn't sent back:
 * the user's turns around it become one.
 *
 * @param blocks of the files, before the text of the last turn
 */
export function messageRequest(
	{ settings, history, added }: MessageDraft,
	blocks: JsonObject[],
): MessageRequest {
	const last = blocks.length === 0 ? added : withFileBlocks(added, blocks);
	return { ...settings, messages: continueTurns(history, last) };
}

function withFileBlocks(turns: Turn[], blocks: JsonObject[]): Turn[] {
	const { role = 'user', content = '' } = turns.at(-1) ?? {};
	const text = content === '' ? [] : [{ type: 'text', text: content }];
	return [...turns.slice(0, -1), { role, content: [...blocks, ...text] }];
}

/** @param history sent alone where the prompt is empty */
function readInput(item: ItemParameters, history: Turn[]): Turn[] {
	switch (readInputKind(item)) {
		case 'prompt': {
			const isEnough = continueTurns(history, []).length > 0;
			if (isEnough && item.optionalText('prompt', 'Prompt') === undefined) return [];
			const content = item.text('prompt', 'Prompt', 'Enter a message for the model.');
			return [{ role: 'user', content }];
		}
		case 'image':
			return [{ role: 'user', content: item.optionalText('prompt', 'Prompt') ?? '' }];
		case 'messages': {
			const listed = item.value('messages');
			const rows = isJsonObject(listed) && Array.isArray(listed.message) ? listed.message : [];
			const turns = rows.filter(isJsonObject).map(({ role, content }) => ({ role, content }));
			return readConversation(item, 'Messages', turns, true);
		}
	}
}

/** @param areNew whether the turns are new: then at least one is required, and none may be empty */
function readConversation(
	item: ItemParameters,
	label: string,
	value: unknown,
	areNew = false,
): Turn[] {
	const turns = readTurns(typeof value === 'string' ? parseJson(value) : value, areNew);
	if (typeof turns !== 'string') return turns;
	throw item.refusal(
		`'${label}' is invalid: ${turns}`,
		`It is ${shown(value)}. Example: [{ "role": "user", "content": "Hello" }].`,
	);
}
