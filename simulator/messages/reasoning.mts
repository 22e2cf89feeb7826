import { messageRefusal } from '../http/gateway-response.mjs';

export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/** How a message is thought about; `undefined` display: no thinking at all. */
export interface Reasoning {
	model: string;
	display: 'summarized' | 'omitted' | undefined;
	effort: Effort;
	/** The most that may be spent on thinking. */
	budgetTokens: number;
}

interface ReasoningModel {
	display: 'summarized' | 'omitted';
	efforts: readonly Effort[];
	/** Whether it takes `temperature`, `top_p`, `top_k`. */
	sampling: boolean;
	/** Whether it takes `thinking.type` = `enabled` with `budget_tokens`. */
	legacy: boolean;
}

const efforts: readonly Effort[] = ['low', 'medium', 'high', 'xhigh', 'max'];

/** The message models: the usual one, an older one, and one that refuses the older fields. */
const models: Record<string, ReasoningModel> = {
	'reason-large': { display: 'summarized', efforts, sampling: true, legacy: true },
	'reason-small': {
		display: 'summarized',
		efforts: efforts.filter((effort) => effort !== 'xhigh'),
		sampling: true,
		legacy: true,
	},
	'reason-next': { display: 'omitted', efforts, sampling: false, legacy: false },
};

/** Their names. */
export const messageModels = Object.keys(models);

/** Checks the model, its suffix, `thinking`, `output_config` and the sampling fields (docs/protocol.md, "Messages"). */
export function readReasoning(body: Record<string, unknown>, maxTokens: number): Reasoning {
	const name = typeof body.model === 'string' ? body.model : '';
	const [, base = name, suffix] = /^(.*?)-(thinking|nothinking)$/.exec(name) ?? [];
	const model = Object.hasOwn(models, base) ? models[base] : undefined;
	if (model === undefined) throw refuse('Incorrect model ID');
	for (const field of ['temperature', 'top_p', 'top_k']) {
		if (body[field] !== undefined && !model.sampling) {
			throw refuse(`${field} is not supported by ${base}`);
		}
	}
	const effort = readEffort(body.output_config, model, base);
	const thinking = readThinking(body.thinking, model, base, maxTokens);
	const on = suffix === undefined ? thinking.on : suffix === 'thinking';
	const display = on ? (thinking.display ?? model.display) : undefined;
	return { model: name, display, effort, budgetTokens: thinking.budgetTokens };
}

function readEffort(config: unknown, model: ReasoningModel, name: string): Effort {
	if (config === undefined) return 'high';
	if (typeof config !== 'object' || config === null)
		throw refuse('output_config must be an object');
	const { effort } = config as { effort?: unknown };
	if (effort === undefined) return 'high';
	if (model.efforts.includes(effort as Effort)) return effort as Effort;
	const list = model.efforts.join(', ');
	throw refuse(
		`output_config.effort ${String(effort)} is not supported by ${name}: one of ${list}`,
	);
}

function readThinking(thinking: unknown, model: ReasoningModel, name: string, maxTokens: number) {
	if (thinking === undefined) return { on: false, display: undefined, budgetTokens: Infinity };
	if (typeof thinking !== 'object' || thinking === null) throw refuse('thinking must be an object');
	const { type, display, budget_tokens: budget } = thinking as Record<string, unknown>;
	if (display !== undefined && display !== 'summarized' && display !== 'omitted') {
		throw refuse('thinking.display must be summarized or omitted');
	}
	if (type === 'adaptive' || type === 'disabled') {
		return { on: type === 'adaptive', display, budgetTokens: Infinity } as const;
	}
	if (type !== 'enabled') throw refuse('thinking.type must be adaptive or disabled');
	if (!model.legacy) {
		throw refuse(`thinking.type enabled is not supported by ${name}: use adaptive with effort`);
	}
	if (
		typeof budget !== 'number' ||
		!Number.isInteger(budget) ||
		budget < 1 ||
		budget >= maxTokens
	) {
		throw refuse('thinking.budget_tokens must be a whole number below max_tokens');
	}
	return { on: true, display, budgetTokens: budget } as const;
}

function refuse(message: string) {
	return messageRefusal(400, message);
}
