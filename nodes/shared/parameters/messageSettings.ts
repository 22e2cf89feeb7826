import type { MessageSettings, Thinking } from '../../../gateway/messages/message';
import type { JsonObject } from '../../../gateway/util/json';
import type { ItemParameters } from './itemParameters';
import { readerOf } from './requestFields';

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
	const choices = ['default', 'adaptive', 'disabled', 'enabled'] as const;
	const thinking: Thinking = item.choice('thinking', 'Thinking', choices);
	const ttls = ['disabled', '5m', '1h'] as const;
	const budgetTokens = (): number =>
		item.count('budgetTokens', 'Budget (Tokens)', MOST_TOKENS) ?? BUDGET_TOKENS;
	return {
		model: readerOf(item, extraFields, 'model')
			.text(
				'model',
				'Model',
				"Enter the name of a message model from the gateway's documentation or console.",
			)
			.trim(),
		maxTokens: item.count('maxTokens', 'Max Tokens', MOST_TOKENS) ?? MAX_TOKENS,
		thinking,
		budgetTokens: thinking === 'enabled' ? budgetTokens() : undefined,
		display: options.optionalChoice('display', 'Display Thinking', ['summarized', 'omitted']),
		effort: options.optionalChoice('effort', 'Effort', EFFORTS),
		temperature: options.optionalNumber('temperature', 'Temperature'),
		topP: options.optionalNumber('topP', 'Top P'),
		topK: options.optionalNumber('topK', 'Top K'),
		promptCaching: options.choice('promptCaching', 'Prompt Caching', ttls),
	};
}
