import type { IExecuteFunctions } from 'n8n-workflow';
import type { JsonObject } from '../../gateway/json';
import type { Problem } from '../../gateway/problem';
import type { ImageResult, TaskRef } from '../../gateway/task';

/** What one item has already paid for. */
export interface Paid {
	task?: TaskRef & { status: string; submittedAt: string };
	images?: ImageResult[];
	/** Unix seconds. */
	created?: number;
	/** The answer to a message. */
	answer?: JsonObject;
	/** A paid request of which nobody knows what became. */
	unknown?: Problem;
}

/** What the items of this run have paid for, kept over the tries of n8n's Retry On Fail. */
export interface Ledger {
	of(itemIndex: number): Paid | undefined;
	note(itemIndex: number, paid: Paid): void;
	/** Nothing more will be needed: everything came out. */
	clear(): void;
	/** What was paid for, in words: empty where nothing was. */
	inWords(): string;
}

interface Notes {
	runIndex: number;
	paid: Record<string, Paid>;
}

const KEY = 'mediaGatewayPaid';

/**
 * The node's notes on what it has paid for. Retry On Fail runs the whole node again with the same
 * run index; the node's context outlives the tries. Notes of another run index are of an earlier
 * run of the same node, in a loop say, and are dropped.
 */
export function openLedger(context: IExecuteFunctions): Ledger {
	const { $runIndex } = context.getWorkflowDataProxy(0) as { $runIndex?: number };
	const runIndex = $runIndex ?? 0;
	const store = context.getContext('node');
	const earlier = store[KEY] as Notes | undefined;
	const notes: Notes = earlier?.runIndex === runIndex ? earlier : { runIndex, paid: {} };
	store[KEY] = notes;
	return {
		of: (itemIndex) => notes.paid[itemIndex],
		note: (itemIndex, paid) => {
			notes.paid[itemIndex] = { ...notes.paid[itemIndex], ...paid };
		},
		clear: () => {
			delete store[KEY];
		},
		inWords: () => describe(notes.paid),
	};
}

function describe(paid: Record<string, Paid>): string {
	return stillToBeHad(
		Object.entries(paid).flatMap(([itemIndex, { task, images, unknown }]) => {
			if (images !== undefined && images.length > 0) {
				return [`item ${itemIndex}: ${images.map(({ url }) => shorten(url)).join(', ')}`];
			}
			if (task !== undefined) return [`item ${itemIndex}: ${task.taskType} task ${task.taskId}`];
			return unknown === undefined ? [] : [`item ${itemIndex}: outcome unknown`];
		}),
	);
}

/** What was paid for in a run that ends early, a line each, under one heading; empty if nothing was. */
export function stillToBeHad(lines: string[]): string {
	if (lines.length === 0) return '';
	return `Already paid for in this run, and still to be had:\n${lines.join('\n')}`;
}

/** An image inside its own address would fill the error with its bytes. */
function shorten(url: string): string {
	return url.startsWith('data:') ? 'an image that came inside the answer' : url;
}
