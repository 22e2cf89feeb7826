import { toConversation, type ChatPart, type ChatTurn } from '../../../gateway/messages/chat.js';
import { toolFields } from '../../../gateway/messages/toolFields.js';
import { hintsOf, planMessage } from '../../../gateway/messages/message.js';
import { readChatResponse } from '../../../gateway/messages/chatResponse.js';
import { GatewayError } from '../../../gateway/protocol/gatewayError.js';
import type { JsonObject } from '../../../util/json.js';

const PNG =
	'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const said = (role: string, ...content: ChatPart[]) => ({ role, content });
const text = (words: string): ChatPart => ({ type: 'text', text: words });
const user = (...content: ChatPart[]): ChatTurn[] =>
	toConversation([said('user', ...content)]).messages;

describe('a conversation', () => {
	test('has its system prompt in front, and results said by the user', () => {
		const { system, messages: turns } = toConversation([
			said('system', text('Be brief.')),
			said('user', text('Draw a fox')),
			said('assistant', text('Gladly.'), {
				type: 'tool-call',
				toolCallId: 'call_1',
				toolName: 'draw',
				input: '{"prompt":"a fox"}',
			}),
			said('tool', { type: 'tool-result', toolCallId: 'call_1', result: 'no', isError: true }),
			said('system', text('Be kind.')),
		]);
		expect(system).toBe('Be brief.\n\nBe kind.');
		expect(turns).toEqual([
			{ role: 'user', content: [{ type: 'text', text: 'Draw a fox' }] },
			{
				role: 'assistant',
				content: [
					{ type: 'text', text: 'Gladly.' },
					{ type: 'tool_use', id: 'call_1', name: 'draw', input: { prompt: 'a fox' } },
				],
			},
			{
				role: 'user',
				content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'no', is_error: true }],
			},
		]);
	});

	test('whose system prompt has a file is not sent', () => {
		const part = { type: 'file', mediaType: 'image/png', data: PNG } as ChatPart;
		const send = () => toConversation([said('system', part), said('user', text('Hi'))]);
		expect(send).toThrow('The system message contains a part of the kind "image"');
		const description = expect.stringMatching(/only be text.*Nothing was sent/) as string;
		const problem = expect.objectContaining({ description }) as object;
		expect(send).toThrow(expect.objectContaining({ problem }));
	});

	test('that is empty is not sent', () => {
		expect(() =>
			toConversation([said('user', text('')), said('system', text('Be brief.'))]),
		).toThrow(GatewayError);
	});

	test.each<[string, unknown, unknown]>([
		['an object', { url: 'x' }, '{"url":"x"}'],
		['parts', [text('done')], [text('done')]],
		['a list of texts', ['a', text('b')], '["a",{"type":"text","text":"b"}]'],
	])('the result of a tool may be %s', (_, result, content) => {
		const part: ChatPart = { type: 'tool-result', toolCallId: 'c', result };
		expect(toConversation([said('tool', part)]).messages[0]?.content).toEqual([
			{ type: 'tool_result', tool_use_id: 'c', content },
		]);
	});
});

describe("a tool's result that n8n's agents have written as JSON", () => {
	const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
	const shot = { type: 'image', data: PNG, mimeType: 'image/png' };
	const said = text('Here it is');
	const resource = { type: 'resource', resource: { uri: 'file:///a', blob: PNG } };
	const linked = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
	const sent = (result: unknown) => {
		const part: ChatPart = { type: 'tool-result', toolCallId: 'c', result };
		return toConversation([{ role: 'tool', content: [part] }]).messages[0]?.content[0]?.content;
	};

	test.each<[string, unknown, unknown[]]>([
		['of an MCP tool', [said, shot], [said, image]],
		['of an MCP tool, as an item', [{ response: [said, shot] }], [said, image]],
		[
			'beside structured content',
			[{ response: [shot], structuredContent: { width: 1 } }],
			[image, text('{"structuredContent":{"width":1}}')],
		],
		['as a resource', { response: [resource, said] }, [image, said]],
		['in a data URL', [linked], [image]],
		["in the gateway's own form", [image], [image]],
	])('has its image as a block: %s', (_, result, blocks) => {
		expect(sent(JSON.stringify(result))).toEqual(blocks);
	});

	test.each([
		['a sound', { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }, 'audio/wav'],
		[
			'an archive',
			{ type: 'resource', resource: { mimeType: 'application/zip', blob: 'UEsDBAAA' } },
			'application/zip',
		],
	])('tells the model of %s, which it can not get', (_, part, type) => {
		const told = text(
			`[The message contains a file of the type "${type}", which can't be sent to the model]`,
		);
		expect(sent(JSON.stringify([{ response: [said, part] }]))).toEqual([said, told]);
	});

	// The file system's server, FastMCP for Python, and one that has the bytes under a name of its own.
	test.each<[string, object]>([
		['content', { content: [said, shot] }],
		['result', { result: [said, { ...shot, annotations: null }] }],
		['a field of its own', { imageData: PNG, width: 1 }],
	])('has its image once, where the structured content repeats it in %s', (name, structured) => {
		const whole = sent(JSON.stringify([{ response: [said, shot], structuredContent: structured }]));
		expect(whole).toEqual([said, image, text(expect.stringContaining('(see above)') as never)]);
		expect(JSON.stringify(whole).split(PNG)).toHaveLength(2);
		// An older agent has the structured content alone.
		const isRead = name !== 'a field of its own';
		if (isRead) expect(sent(JSON.stringify(structured))).toEqual([said, image]);
	});

	test('has a drawing as text', () => {
		const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
		const data = Buffer.from(svg).toString('base64');
		const part = { type: 'image', data, mimeType: 'image/svg+xml' };
		expect(sent(JSON.stringify([part]))).toEqual([text(svg)]);
	});

	test.each<[string, unknown]>([
		['texts', [{ response: [said, said] }]],
		['files of a folder', [{ type: 'file', name: 'a', url: 'https://example.com/a' }]],
		['records', [{ type: 'document', data: 'grüß dich', mimeType: 'text/plain' }]],
		['records with IDs', [{ type: 'image', data: 'c2hvdA' }]],
		['a part of another kind', [shot, { type: 'hologram' }]],
		['several items', [{ response: [shot] }, { response: [shot] }]],
		['a part that is no list', shot],
		['nothing', [{ response: null }]],
	])('reaches the model as it is: %s', (_, result) => {
		const json = JSON.stringify(result);
		const broken = json.slice(0, -1);
		expect([sent(json), sent(broken), sent(` ${json}`)]).toEqual([json, broken, ` ${json}`]);
	});
});

describe('a picture that no endpoint takes', () => {
	const heic = Buffer.from('\0\0\0\x18ftypheic\0\0\0\0', 'latin1').toString('base64');
	const tiff = Buffer.from('II*\0rest', 'latin1').toString('base64');

	test.each<[string, object, RegExp]>([
		[
			'HEIC with a name',
			{ type: 'file', data: heic, mimeType: 'image/jpeg', filename: 'IMG_1.heic' },
			/"IMG_1.heic", a file of the type "image\/heic"/,
		],
		[
			'a TIFF in the terms of the endpoint',
			{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: tiff } },
			/"image\/tiff"/,
		],
		[
			'AVIF by its name',
			{ type: 'image_url', image_url: { url: 'data:image/avif;base64,AAAA' } },
			/"image\/avif"/,
		],
	])('is refused: %s', (_, part, words) => {
		// prettier-ignore
		expect(() => toConversation([said('user', part as ChatPart)])).toThrow(words);
	});

	test('is text as SVG, and a document behind a byte order mark', () => {
		const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>';
		const data = Buffer.from(svg).toString('base64');
		const source = { type: 'base64', media_type: 'image/svg+xml', data };
		expect(user({ type: 'image', source } as never)[0]!.content).toEqual([text(svg)]);
		const pdf = Buffer.from('\xef\xbb\xbf\r\n%PDF-1.4', 'latin1').toString('base64');
		expect(user({ type: 'file', data: pdf, mediaType: 'x/y' })[0]!.content).toMatchObject([
			{ type: 'document', source: { media_type: 'application/pdf', data: pdf } },
		]);
	});
});

describe('a part of an agent, chain or tool', () => {
	const pdf = Buffer.from('%PDF-1.7\n').toString('base64');
	const note = Buffer.from('grüß dich').toString('base64');
	const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
	const at = (type: string, url: string) => ({ type, source: { type: 'url', url } });
	const page = 'https://example.com/a';
	const document = {
		type: 'document',
		source: { type: 'base64', media_type: 'application/pdf', data: pdf },
	};
	const words = text('grüß dich');
	const OWN_TEXT = { type: 'document', source: { type: 'text', data: 'grüß dich' } };
	const dataUrl = `data:image/png;base64,${PNG}`;
	const given = (value: unknown): ChatPart => ({ type: 'provider', value });

	test.each<[string, JsonObject, JsonObject]>([
		['a text', { type: 'text', text: 'grüß dich', id: 1 }, words],
		["the SDK's image", { type: 'file', mediaType: 'image/png', data: PNG }, image],
		['its bytes', { type: 'file', data: Buffer.from(PNG, 'base64') }, image],
		['its address', { type: 'file', providerMetadata: { url: page } }, at('image', page)],
		['an image', { type: 'image_url', image_url: { url: dataUrl, detail: 'low' } }, image],
		['an image at an address', { type: 'image_url', image_url: { url: page } }, at('image', page)],
		["the gateway's own image", { ...image, cache_control: {} }, { ...image, cache_control: {} }],
		["a tool's image", { type: 'image', data: PNG, mimeType: 'image/png' }, image],
		['media', { type: 'media', mimeType: 'image/png', data: PNG }, image],
		['a PDF', { type: 'file', source_type: 'base64', mime_type: 'application/pdf', data: pdf, metadata: { filename: 'a.pdf' } }, document], // prettier-ignore
		['a PDF of another protocol', { type: 'input_file', file_data: `data:application/pdf;base64,${pdf}`, filename: 'a' }, document], // prettier-ignore
		['a PDF at an address', { type: 'file', url: `${page}.pdf?x=1` }, at('document', `${page}.pdf?x=1`)], // prettier-ignore
		['a text file', { type: 'file', mime_type: 'application/json', data: note }, words],
		['a resource of bytes', { type: 'resource', resource: { uri: 'file:///a', blob: PNG } }, image],
		['a text of another protocol', { type: 'output_text', text: 'grüß dich' }, words],
		['a document of text', { type: 'text-plain', data: note }, words],
		['a document as its text', { type: 'text-plain', text: 'grüß dich' }, words],
		['a resource of text', { type: 'resource', resource: { text: 'grüß dich' } }, words],
		["the gateway's own text", OWN_TEXT, OWN_TEXT],
		["the gateway's own address", at('image', page), at('image', page)],
		['a text that is read', { type: 'input_text', text: 'grüß dich' }, words],
		['a refusal', { type: 'refusal', refusal: 'grüß dich' }, words],
		...['document', 'input_file', 'input_image'].map((type): [string, JsonObject, JsonObject] => [
			`an image as a part of the kind ${type}`,
			{ type, data: PNG, mimeType: 'image/png' },
			image,
		]),
		['a link', { type: 'resource_link', uri: 'a' }, text('{"type":"resource_link","uri":"a"}')],
		// The names of agents, tools and protocols.
		...['url', 'image_url', 'file_url', 'fileUri', 'uri'].map(
			(name): [string, JsonObject, JsonObject] => [
				`a PDF at an address in ${name}`,
				{ type: 'file', [name]: page, mimeType: 'application/pdf' },
				at('document', page),
			],
		),
		...['mimeType', 'mime_type', 'mediaType', 'media_type'].map(
			(name): [string, JsonObject, JsonObject] => [
				`a PDF by its ${name}`,
				{ type: 'file', url: page, [name]: 'Application/PDF' },
				at('document', page),
			],
		),
	])('is sent, by the user and in a result: %s', (_, value, block) => {
		expect(user(given(value), value as ChatPart)[0]?.content).toEqual([block, block]);
		const result = [given(value), given(text('made'))];
		const [turn] = toConversation([
			said('tool', { type: 'tool-result', toolCallId: 'c', result }),
		]).messages;
		expect(turn?.content[0]).toMatchObject({ content: [block, text('made')] });
	});

	test.each<[string, unknown, string]>([
		['a film', { type: 'video', url: 'data:video/mp4;base64,AAAA' }, '"video/mp4"'],
		[
			'a sound',
			{ type: 'input_audio', input_audio: { data: 'AAAA' } },
			'of the type "input_audio"',
		],
		...['filename', 'fileName', 'file_name', 'name', 'title'].map(
			(name): [string, unknown, string] => [
				`a film by its ${name}`,
				{ type: 'file', url: 'data:video/mp4;base64,AAAA', [name]: 'a.mp4' },
				'contains "a.mp4", a file of the type "video/mp4"',
			],
		),
		['a file without bytes', { type: 'file', fileId: 'file-1' }, 'a file without content'],
		['an address that is none', { type: 'image_url', image_url: { url: 'my cat' } }, 'a file at "my cat"'], // prettier-ignore
		['an unknown kind', { type: 'hologram', data: PNG }, 'a part of the kind "hologram"'],
	])('is refused before anything is sent: %s', (_, value, message) => {
		const send = () => user(text('What is it?'), given(value));
		expect(send).toThrow(message);
		expect(send).toThrow(/can't be sent to the model$/);
	});

	test('a call that n8n puts beside the thinking of another model is sent once', () => {
		// As buildSteps of n8n's agents makes it: without `tool_calls`.
		const thought = { type: 'thinking', thinking: 'Hm.', signature: 's' };
		const call = { type: 'tool_use', id: 'toolu_1', name: 'draw', input: { prompt: 'a fox' } };
		const known = { toolCallId: 'toolu_1', toolName: 'draw', input: '{"prompt":"a fox"}' };
		for (const others of [[], [{ type: 'tool-call' as const, ...known }]]) {
			const turn = said('assistant', given(thought), given(call), ...others);
			expect(toConversation([turn]).messages[0]?.content).toEqual([call]);
		}
	});

	test.each([
		['call_1', { prompt: 'a fox' }],
		['7', { id: '7', prompt: 'a fox' }],
	])("a call has no argument that n8n's memory adds, its own ID: %s", (id, input) => {
		const call = {
			toolCallId: 'call_1',
			toolName: 'draw',
			input: JSON.stringify({ id, prompt: 'a fox' }),
		};
		const turn = said('assistant', { type: 'tool-call' as const, ...call });
		expect(toConversation([turn]).messages[0]?.content).toMatchObject([{ id: 'call_1', input }]);
		expect(toConversation([turn]).messages[0]?.content[0]?.input).toEqual(input);
	});

	test('that belongs to the turn of a model does not go back, whatever model it was', () => {
		const parts = [
			{ type: 'thinking', thinking: 'Hm.', signature: 's' },
			{ type: 'reasoning', reasoning: 'Hm.' },
			{ type: 'text', text: 'Gladly.' },
			{ type: 'tool_use', id: 'c', name: 'draw', input: '' },
			{ type: 'functionCall', functionCall: {} },
		];
		const [turn] = toConversation([said('assistant', ...parts.map(given))]).messages;
		expect(turn?.content).toEqual([text('Gladly.')]);
		expect(() => toConversation([said('user', given(parts[0]))])).toThrow('"thinking"');
	});
});

describe('the plan', () => {
	const messages = user(text('Hello'));
	const request = { model: 'reason-large', max_tokens: 100, messages };

	test('extra fields override all others, and are not sent under their own name', () => {
		const extraFields = { metadata: { user_id: 'me' }, temperature: 1 };
		const { body } = planMessage({ ...request, temperature: 0, extraFields });
		expect(body).toEqual({ ...request, ...extraFields });
	});

	// prettier-ignore
	test.each<[string, JsonObject, JsonObject, JsonObject]>([
		['another field', { output_config: { effort: 'high' } }, { output_config: { format: 'x' } }, { output_config: { effort: 'high', format: 'x' } }],
		['the same kind', { thinking: { type: 'adaptive', display: 'omitted' } }, { thinking: { type: 'adaptive', between_tools: true } }, { thinking: { type: 'adaptive', display: 'omitted', between_tools: true } }],
		['no kind', { cache_control: { type: 'ephemeral', ttl: '1h' } }, { cache_control: { scope: 'x' } }, { cache_control: { type: 'ephemeral', ttl: '1h', scope: 'x' } }],
		['another kind', { thinking: { type: 'adaptive', display: 'omitted' } }, { thinking: { type: 'disabled' } }, { thinking: { type: 'disabled' } }],
		['nothing', { output_config: { effort: 'high' } }, { output_config: null }, { output_config: null }],
	])('has objects of Extra Fields with %s beside the settings', (_, settings, extraFields, sent) => {
		const { body } = planMessage({ ...request, ...settings, extraFields });
		expect(body).toMatchObject(sent);
		expect(Object.keys(body!)).toHaveLength(Object.keys(request).length + 1);
	});

	test('has no sampling beside thinking, and a hint says so', () => {
		const sampling = { temperature: 0.2, top_k: 4 };
		const asked = { ...request, ...sampling, thinking: { type: 'adaptive' } };
		const { body } = planMessage({ ...asked, extraFields: { top_p: 0.99 } });
		expect(body).toMatchObject({ top_p: 0.99 });
		expect(body).not.toHaveProperty('temperature');
		expect(hintsOf(asked)).toEqual([
			{
				description: expect.stringContaining("weren't sent: temperature, top_k."),
				settings: ['temperature', 'top_k'],
			},
		]);
		const off = { ...request, ...sampling, thinking: { type: 'disabled' } };
		expect([planMessage(off).body, hintsOf(off)]).toMatchObject([sampling, []]);
	});

	test('has no budget for thinking in answer to the call of a model that has not thought', () => {
		const thinking = { type: 'enabled', budget_tokens: 5 };
		const call = { type: 'tool_use', id: 'a', name: 'x', input: {} };
		const bodyOf = (before: object[], type = 'enabled') =>
			planMessage({
				...request,
				thinking: { ...thinking, type },
				messages: [
					{ role: 'user', content: 'Hi' },
					{ role: 'assistant', content: [...before, call] },
					{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] },
				],
			}).body;
		expect(bodyOf([])).not.toHaveProperty('thinking');
		expect(bodyOf([{ type: 'redacted_thinking', data: 'x' }])).toMatchObject({ thinking });
		expect(bodyOf([], 'adaptive')).toHaveProperty('thinking');
		const texts = ['user', 'assistant', 'user'].map((role) => ({ role, content: 'Hi' }));
		expect(planMessage({ ...request, thinking, messages: texts }).body).toMatchObject({ thinking });
	});

	test('refuses a budget for thinking that leaves nothing for the response', () => {
		const plan = (budget_tokens: number, extraFields: object = {}) => {
			const thinking = { type: 'enabled', budget_tokens };
			return () => planMessage({ ...request, thinking, extraFields: { ...extraFields } });
		};
		expect(plan(100)).toThrow(/is 100 and must be less than "max_tokens"/);
		expect(plan(99)).not.toThrow();
		expect(plan(99, { max_tokens: 99 })).toThrow(/is 99 and/);
		expect(plan(200, { thinking: null })).not.toThrow();
	});

	test('names each tool once: agents bind theirs twice', () => {
		const tool = { name: 'draw', inputSchema: { type: 'object' } };
		expect(toolFields([tool, tool])).toHaveLength(1);
		expect(toolFields([])).toBeUndefined();
	});
});

describe('a response', () => {
	const body = {
		id: 'msg_1',
		content: [
			{ type: 'thinking', thinking: 'Hm.', signature: 's' },
			{ type: 'redacted_thinking', data: 'x' },
			{ type: 'text', text: 'Here' },
			{ type: 'text', text: '' },
			{ type: 'tool_use', id: 'c', name: 'draw', input: { prompt: 'a fox' } },
		],
		stop_reason: 'tool_use',
		usage: {
			input_tokens: 10,
			cache_read_input_tokens: 5,
			cache_creation_input_tokens: 2,
			output_tokens: 30,
			output_tokens_details: { thinking_tokens: 20 },
		},
	};

	test('is handed on in parts, with its usage', () => {
		const response = readChatResponse(body);
		expect(response.parts).toEqual([
			{ type: 'reasoning', text: 'Hm.' },
			{ type: 'text', text: 'Here' },
			{
				type: 'tool-call',
				toolCallId: expect.any(String),
				toolName: 'draw',
				input: '{"prompt":"a fox"}',
			},
		]);
		expect(response).toMatchObject({
			id: 'msg_1',
			finishReason: 'tool-calls',
			content: body.content,
		});
		expect(response.usage).toEqual({
			promptTokens: 17,
			completionTokens: 30,
			totalTokens: 47,
			inputTokenDetails: { cacheRead: 5 },
			outputTokenDetails: { reasoning: 20 },
			additionalMetadata: body.usage,
		});
	});

	test.each([
		['end_turn', 'stop'],
		['stop_sequence', 'stop'],
		['max_tokens', 'length'],
		['model_context_window_exceeded', 'length'],
		['refusal', 'content-filter'],
		['content_filter', 'content-filter'],
		['pause_turn', 'other'],
		['news', 'other'],
		[undefined, 'other'],
	])('that stops for %s has ended for %s', (stop_reason, finishReason) => {
		const content = [{ type: 'text', text: 'Here' }];
		expect(readChatResponse({ content, stop_reason })).toMatchObject({ finishReason });
	});

	test('that is an error may have been charged', () => {
		const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
		expect(() => readChatResponse(error)).toThrow(
			expect.objectContaining({ code: 'outcomeUnknown' }),
		);
		expect(() => readChatResponse(error)).toThrow('Overloaded');
		expect(() => readChatResponse({})).toThrow(expect.objectContaining({ code: 'outcomeUnknown' }));
	});

	const call = { type: 'tool_use', id: 'c', name: 'draw', input: { prompt: 'a fox' } };
	const says = { type: 'text', text: 'Here' };

	test.each<[string, object[], unknown]>([
		['without a stop reason', [call], undefined],
		['at the limit', [says, call], 'max_tokens'],
		['at the end of the context', [call], 'model_context_window_exceeded'],
		['at a stop sequence', [call], 'stop_sequence'],
		['for a pause', [call, says], 'pause_turn'],
		['for a refusal', [call, says], 'refusal'],
		['for a filter', [call, says], 'content_filter'],
		['with half an input', [{ ...call, input: '{"prompt":"a f' }], 'tool_use'],
		['with a list for an input', [{ ...call, input: ['a fox'] }], 'tool_use'],
		['with half an input before a whole one', [{ ...call, input: '' }, call], 'tool_use'],
		['without a name', [{ ...call, name: undefined }], 'tool_use'],
	])('that stops inside a tool call %s does not reach the tool', (_, content, stop_reason) => {
		const read = () => readChatResponse({ content, stop_reason });
		expect(read).toThrow(expect.objectContaining({ code: 'outcomeUnknown' }));
		try {
			read();
		} catch (error) {
			const { description, response } = (error as GatewayError).problem;
			expect(description).toMatch(/The tool wasn't called\. You may have been charged/);
			expect(response).toContain('tool_use');
		}
	});

	test('that stops inside a tool call is said to have ended there', () => {
		expect(() => readChatResponse({ content: [call] })).toThrow(
			/he response ended, in the middle of a tool call/,
		);
	});

	test.each([
		['tool_use', call.input, '{"prompt":"a fox"}'],
		['tool_use', '{"prompt":"a fox"}', '{"prompt":"a fox"}'],
		['stop', call.input, '{"prompt":"a fox"}'],
		// A tool without parameters.
		['tool_use', undefined, '{}'],
		['tool_use', null, '{}'],
		['tool_use', '{}', '{}'],
	])('whose tool calls are whole reaches the tool, for %s with %j', (stop_reason, input, whole) => {
		const response = readChatResponse({ content: [{ ...call, input }], stop_reason });
		expect(response.finishReason).toBe('tool-calls');
		expect(response.parts).toMatchObject([{ toolName: 'draw', input: whole }]);
		expect(response.content).toEqual([{ ...call, input: JSON.parse(whole) as object }]);
	});
});
