import type { MessageSettings } from '../../../gateway/messages';
import { withoutUndefined, type JsonObject } from '../../../util/json';
import type { ItemParameters } from './itemParameters';
import { readerOf } from './requestFields';

const DISPLAYS = ['summarized', 'omitted'];
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];
const MAX_TOKENS = 4096;
const BUDGET_TOKENS = 1024;
const MOST_TOKENS = 10_000_000;

/**
 * Model, length, thinking and sampling, which the Message node and the chat model set alike
 * (docs/protocol.md, "Messages"). An empty field is not sent.
 *
 * @param extraFields may set another model
 * @throws NodeOperationError that names the parameter to correct
 */
export function readMessageSettings(
	item: ItemParameters,
	extraFields: JsonObject,
): MessageSettings {
	const { options } = item;
	const effort = options.optionalChoice('effort', 'Effort', EFFORTS);
	const ttl = options.choice('promptCaching', 'Prompt Caching', ['disabled', '5m', '1h']);
	return {
		model: readerOf(item, extraFields, 'model')
			.text(
				'model',
				'Model',
				"Enter the name of a message model from the gateway's documentation or console.",
			)
			.trim(),
		max_tokens: item.count('maxTokens', 'Max Tokens', MOST_TOKENS) ?? MAX_TOKENS,
		thinking: readThinking(item),
		output_config: effort === undefined ? undefined : { effort },
		temperature: options.optionalNumber('temperature', 'Temperature'),
		top_p: options.optionalNumber('topP', 'Top P'),
		top_k: options.optionalNumber('topK', 'Top K'),
		cache_control: ttl === 'disabled' ? undefined : { type: 'ephemeral', ttl },
	};
}

/** The thinking setting; undefined for the default of the model. */
function readThinking(item: ItemParameters): JsonObject | undefined {
	const types = ['default', 'adaptive', 'disabled', 'enabled'] as const;
	const type = item.choice('thinking', 'Thinking', types);
	const display = item.options.optionalChoice('display', 'Display Thinking', DISPLAYS);
	if (type === 'default') return undefined;
	if (type === 'disabled') return { type };
	if (type === 'adaptive') return withoutUndefined({ type, display });
	const budget = item.count('budgetTokens', 'Budget (Tokens)', MOST_TOKENS) ?? BUDGET_TOKENS;
	return withoutUndefined({ type, budget_tokens: budget, display });
}
