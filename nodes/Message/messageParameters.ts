import { readTurns, type MessageRequest, type Turn } from '../../gateway/messages/message';
import { isJsonObject, parseJson, type JsonObject } from '../../gateway/util/json';
import type { PayingField } from '../shared/fields/choices';
import { lengthFields, messageModelField, modelOptions } from '../shared/fields/messageFields';
import { optionsField, simplifyField } from '../shared/fields/optionFields';
import { isEmpty, shown, type ItemParameters } from '../shared/parameters/itemParameters';
import { readMessageSettings } from '../shared/parameters/messageSettings';
import { readExtraFields, withoutFields } from '../shared/parameters/requestFields';

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
			{ name: 'JSON', value: 'json', description: "A list of messages in the gateway's format" },
			{ name: 'Messages', value: 'messages', description: 'One field for each message' },
			{ name: 'Prompt', value: 'prompt', description: 'A single user message' },
		],
	},
	{
		displayName: 'Prompt',
		name: 'prompt',
		shapesRequest: true,
		type: 'string',
		typeOptions: { rows: 4 },
		default: '',
		required: true,
		placeholder: 'e.g. Describe this product in two sentences',
		description: 'Message to send to the model',
		displayOptions: { show: { input: ['prompt'] } },
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
	{
		displayName: 'Messages (JSON)',
		name: 'messagesJson',
		shapesRequest: true,
		type: 'json',
		default: '[{ "role": "user", "content": "" }]',
		required: true,
		placeholder: 'e.g. [{ "role": "user", "content": "Hello" }]',
		description: 'List of messages with role and content. The content is text or a list of blocks.',
		displayOptions: { show: { input: ['json'] } },
	},
	...lengthFields(
		'Maximum number of tokens in the response, including thinking. Use 1 for the smallest request that shows whether the key and the model work.',
	),
	simplifyField,
	optionsField(
		['concurrency', 'extraFields', 'requestsPerSecond', 'timeout'],
		[
			...modelOptions,
			{
				displayName: 'History',
				name: 'history',
				shapesRequest: true,
				type: 'json',
				default: '={{ $json.messages }}',
				placeholder: 'e.g. {{ $json.messages }}',
				description:
					'The conversation so far: the output "messages" of an earlier Message node. Thinking blocks are sent back unchanged.',
			},
			{
				displayName: 'Image Fields',
				name: 'imageFields',
				shapesRequest: true,
				type: 'string',
				default: 'data',
				placeholder: 'e.g. data, photo',
				description:
					'Names of input binary fields with images for the model, separated by commas. The images stay in the output "messages" and are charged again with each message that continues the conversation.',
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

/**
 * Reads the request of an item from its parameters.
 *
 * @param images blocks for the user's last message
 * @throws NodeOperationError that names the parameter to correct
 */
export function readMessageRequest(item: ItemParameters, images: JsonObject[]): MessageRequest {
	const extraFields = readExtraFields(item);
	const history = item.options.value('history');
	const input = item.choice('input', 'Input', ['prompt', 'messages', 'json']);
	if (images.length > 0 && (input === 'json' || Object.hasOwn(extraFields, 'messages'))) {
		throw item.refusal(
			"'Image Fields' can't be added to messages that are given as JSON",
			'Put the image into the JSON: { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "…" } }.',
		);
	}
	return {
		...readMessageSettings(item, extraFields),
		messages: Object.hasOwn(extraFields, 'messages')
			? readConversation(item, 'messages in Extra Fields', extraFields.messages, true)
			: [
					...(isEmpty(history) ? [] : readConversation(item, 'History', history)),
					...withImages(readInput(item, input), images),
				],
		system: item.options.optionalText('system', 'System Prompt'),
		extraFields: withoutFields(extraFields, ['model', 'messages']),
	};
}

/** The turns with the images before the text of the user's last one, or in a turn of their own. */
function withImages(turns: Turn[], images: JsonObject[]): Turn[] {
	if (images.length === 0) return turns;
	const place = turns.findLastIndex(({ role }) => role === 'user');
	const { content = [] } = turns[place] ?? {};
	const text = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
	const turn = { role: 'user', content: [...images, ...text] };
	return place < 0 ? [...turns, turn] : turns.with(place, turn);
}

function readInput(item: ItemParameters, input: 'prompt' | 'messages' | 'json'): Turn[] {
	switch (input) {
		case 'prompt': {
			const content = item.text('prompt', 'Prompt', 'Enter a message for the model.');
			return [{ role: 'user', content }];
		}
		case 'json':
			return readConversation(item, 'Messages (JSON)', item.value('messagesJson', '[]'), true);
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
