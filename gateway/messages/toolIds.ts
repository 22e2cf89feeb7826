import { digestOf } from '../protocol/fingerprint';
import type { JsonObject } from '../util/json';

/** Gives a tool call its ID. @param index among the calls of its response */
export type IdGiver = (index: number) => string;

/**
 * Makes IDs for tool calls that no other call has. A gateway may count its calls from 0 in each
 * response, or leave the ID out; an agent, its memory and n8n find a call by nothing else. The
 * gateway's own would do only within one conversation that one model leads: a call of a fallback
 * model, or one that an agent's memory holds of another execution, could be taken for it.
 *
 * @param used the IDs of the conversation so far, and of others that the same agent leads
 * @param seed tells the response from every other one; the same gives the same IDs
 */
export function createIdGiver(used: ReadonlySet<string>, seed: string): IdGiver {
	const given = new Set<string>();
	return (index) => {
		let id = '';
		for (let round = 0; id === '' || used.has(id) || given.has(id); round += 1) {
			id = `call_${digestOf([seed, index, round]).slice(0, 24)}`;
		}
		given.add(id);
		return id;
	};
}

/**
 * Gives the tool calls of a response their IDs.
 *
 * @returns the IDs for the agent, and the blocks as they go back to the gateway: with its own IDs,
 *   unless one is missing or stands for two calls, so that a result could not be told to whom it belongs
 */
export function assignIds(
	blocks: JsonObject[],
	newId: IdGiver,
): { content: JsonObject[]; callIds: string[] } {
	const counts = new Map<string, number>();
	for (const { type, id } of blocks) {
		if (type === 'tool_use' && isId(id)) counts.set(String(id), (counts.get(String(id)) ?? 0) + 1);
	}
	const callIds: string[] = [];
	const content = blocks.map((block) => {
		if (block.type !== 'tool_use') return block;
		const own = block.id;
		const id = newId(callIds.length);
		callIds.push(id);
		return isId(own) && counts.get(String(own)) === 1 ? block : { ...block, id };
	});
	return { content, callIds };
}

const isId = (id: unknown): id is string | number =>
	(typeof id === 'string' && id.trim() !== '') || Number.isFinite(id);
