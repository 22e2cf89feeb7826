/** What few users set. It has to arrive all the same, and nobody notices if it does not. */
import fc from 'fast-check';

/** Of some items one field, of others the other. */
export const BY_PROMPT = 'by prompt';

export interface MoreSettings {
	/** The field that files of images go into. */
	field: 'data' | 'picture' | typeof BY_PROMPT;
	/** A second image is edited together with the first one. */
	second: boolean;
	/** A file that goes into a field of another name. */
	mask: boolean;
	/** In the form of the model. */
	size?: '512x512' | typeof UNPUBLISHED;
	responseFormat?: 'url' | 'b64_json';
	/** Options of messages, as `MESSAGE_FIELDS` has them. */
	message: Record<string, unknown>;
	/** How a message is entered, and whether its response is simplified. */
	input: 'prompt' | 'messages' | 'json';
	simplify: boolean;
	/** Of the credential. */
	messageAuth: 'authorization' | 'xApiKey';
	version?: string;
	/** The models are listed by another host. */
	isListedApart: boolean;
	/** Tasks that were submitted before don't say of which kind they are. */
	isKindless: boolean;
	/** Which item has no prompt. */
	blank?: number;
}

/** A size that is in no list. */
export const UNPUBLISHED = '64x64';

/** Where the options of a message stand in its body. */
export const MESSAGE_FIELDS: Record<string, (body: Record<string, unknown>) => unknown> = {
	system: ({ system }) => system,
	temperature: ({ temperature }) => temperature,
	topP: (body) => body.top_p,
	topK: (body) => body.top_k,
	effort: (body) => (body.output_config as { effort?: unknown } | undefined)?.effort,
};

const settings: fc.Arbitrary<MoreSettings> = fc.record(
	{
		field: fc.constantFrom('data' as const, 'picture' as const, BY_PROMPT),
		second: fc.boolean(),
		mask: fc.boolean(),
		size: fc.constantFrom(undefined, undefined, '512x512' as const, UNPUBLISHED),
		responseFormat: fc.constantFrom(undefined, undefined, 'url' as const, 'b64_json' as const),
		message: fc.record(
			{
				system: fc.constant('You write for a toy shop'),
				temperature: fc.constantFrom(0, 0.5),
				topP: fc.constant(0.9),
				topK: fc.constant(40),
				effort: fc.constant('high'),
			},
			{ requiredKeys: [], noNullPrototype: true },
		),
		input: fc.constantFrom('prompt' as const, 'messages' as const, 'json' as const),
		simplify: fc.boolean(),
		messageAuth: fc.constantFrom('authorization' as const, 'xApiKey' as const),
		version: fc.constantFrom(undefined, '2024-01-01'),
		isListedApart: fc.boolean(),
		isKindless: fc.boolean(),
		blank: fc.constantFrom(undefined, undefined, undefined, 0, 1),
	},
	{ noNullPrototype: true },
);

/** A third of the flows have some of them. */
export const moreSettings: fc.Arbitrary<MoreSettings | undefined> = fc.oneof(
	{ weight: 2, arbitrary: fc.constant(undefined) },
	{ weight: 1, arbitrary: settings },
);
