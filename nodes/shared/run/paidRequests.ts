import type { INodeExecutionData } from 'n8n-workflow';
import { digestOf, requestBasis, requestFingerprint } from '../../../gateway/protocol/fingerprint';
import { withoutInlineImages } from '../../../gateway/util/inlineImages';
import type { JsonObject } from '../../../gateway/util/json';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan';
import { UnknownOutcomeError, type Problem } from '../../../gateway/util/gatewayError';
import type { SendOnce } from '../../../gateway/client/client';
import { indexNotes, type EarlierNotes } from './earlierNotes';
import { keepOnly, openNotes, PAID_KEY } from './liveNotes';
import {
	itemsOfNote,
	nothingUsable,
	paymentsInWords,
	STOPPED,
	withId,
	withPayment,
	type Paid,
	type PaidNote as Note,
} from './paid';
import { runIndexOf, type Run } from './runContext';

/** A paid request of one item, before it is sent. */
export interface PaidRequest {
	itemIndex: number;
	/** Of the request as the user asked for it: what the listing makes of it may differ next time. */
	fingerprint: string;
	/** Of what it needs beside the parameters and the item: who pays, and the contents of its files. */
	basis: string;
}

/** What the items of a run have paid for, kept over the tries of the node. */
export interface PaidRequests {
	/** Says what an item is going to ask for; to be called for all items before one is sent. */
	expect(itemIndex: number, asked: RequestPlan): PaidRequest;
	/** Whether an earlier try has paid for it. */
	has(request: PaidRequest): boolean;
	/**
	 * Sends a paid request, unless an earlier try has paid for it: then what it brought is taken, and
	 * an unknown outcome stays one.
	 *
	 * @param read what was bought, out of the response; undefined if there is nothing of use in it
	 * @throws GatewayError, or UnknownOutcomeError where the request may have been charged
	 */
	payOnce(
		request: PaidRequest,
		plan: RequestPlan,
		read: (body: JsonObject) => Paid | undefined,
	): Promise<Paid>;
	/**
	 * An item fails before anything is sent for it: its source cannot be fetched, say, or the budget is
	 * exceeded. What an earlier try has paid for it would be out of reach.
	 *
	 * @returns the same error, also with what was paid for
	 */
	withEarlier(error: unknown, itemIndex: number): unknown;
	/** The same for images inside a response, to which no error leads: the items of the earlier try. */
	itemsOfEarlier(itemIndex: number): INodeExecutionData[] | undefined;
	/** Adds what has become known of what an item paid for. */
	note(itemIndex: number, paid: Paid): void;
	/** The node gives out its items. @param failed the indexes of the input items that are errors */
	settle(failed: Set<number>): void;
	/** To be called when the run is over, however it ended. */
	close(): void;
	/** What was paid for and has not come out, in words: empty where nothing was. */
	inWords(): string;
}

/** What runs of this process are using now: an agent may make the same tool call twice at once. */
const inUse = new WeakSet<Note>();

/**
 * The node's notes on what it has paid for. They lie in the node's context, which outlives the tries
 * of Retry On Fail and goes along when n8n retries a failed execution. What is taken from there
 * instead of being paid for again:
 *
 * - In the same execution: what the same request has paid for and what was not given out. A tool call
 *   that failed counts as such. One that succeeded does not: who asks again wants another image.
 * - In another try of the same run: also what was given out, which the engine throws away when it
 *   tries again; and what the same parameters made of the same item, though the request differs: an
 *   expression may put the time of day or a random seed into it.
 * - In another execution: what there is to be had, also of another request if the parameters and the
 *   item are the same. A person has looked, so what had an unknown outcome or has failed is sent again,
 *   and so is what was changed.
 */
export function openPaidRequests(run: Run): PaidRequests {
	const { context, isTool } = run;
	const runIndex = runIndexOf(context);
	const executionId = context.getExecutionId() ?? '';
	const isSameRun = (note: Note): boolean =>
		note.executionId === executionId && note.runIndex === runIndex;

	const store = context.getContext('node');
	const notes = openNotes(store, PAID_KEY, (note) => !note.delivered || isSameRun(note));
	// What an earlier try gave out the engine has thrown away.
	if (!isTool) for (const note of notes) note.delivered = false;

	const node = context.getNode();
	let parameters: string | undefined;
	const sourceOf = (itemIndex: number): string => {
		parameters ??= digestOf(node.parameters);
		return digestOf([parameters, context.getInputData()[itemIndex]?.json]);
	};

	/** What each item asks for, and what it has: at first, or from an earlier try. */
	const expected = new Map<number, string>();
	const bases = new Map<number, string>();
	const held = new Map<number, Note>();
	const sending = new Map<number, RequestPlan>();

	const isToBeHad = (note: Note): boolean => {
		if (note.executionId === executionId) return !note.delivered || !isTool;
		return note.paid.unknown === undefined && note.paid.failed !== true;
	};
	/** Of an earlier execution: this one goes on where it has failed. */
	const isRetried = (note: Note): boolean =>
		!isTool &&
		note.executionId !== executionId &&
		note.runIndex === runIndex &&
		note.basis !== undefined &&
		note.basis === bases.get(note.itemIndex);
	const isOwn = (note: Note): boolean =>
		(isSameRun(note) || isRetried(note)) && note.source === sourceOf(note.itemIndex);
	const isLeft = (note: Note): boolean => !inUse.has(note) && isToBeHad(note);
	const index = (): EarlierNotes => indexNotes(notes.filter(isToBeHad), expected, isOwn, isLeft);
	// Calls beside a tool's take notes, and leave others, after this one was opened.
	const indexed = isTool ? undefined : index();
	const earlier = (): EarlierNotes => indexed ?? index();

	// Its own first: what another item of this run has paid for, that one takes.
	const find = ({ itemIndex, fingerprint }: PaidRequest): Note | undefined =>
		held.get(itemIndex) ??
		earlier().ofItem(fingerprint, itemIndex) ??
		sameSource(itemIndex) ??
		earlier().ofOthers(fingerprint, itemIndex);

	/** What an earlier try has paid for the same item, by the same parameters. */
	const sameSource = (itemIndex: number): Note | undefined =>
		earlier().ofPlace(itemIndex).find(isOwn);

	const requestOf = (itemIndex: number): PaidRequest | undefined => {
		const fingerprint = expected.get(itemIndex);
		const basis = bases.get(itemIndex) ?? '';
		return fingerprint === undefined ? undefined : { itemIndex, fingerprint, basis };
	};

	/** What an earlier try has paid for an item for which this one has begun nothing. */
	const notBegun = (itemIndex: number): Note | undefined => {
		if (held.has(itemIndex) || sending.has(itemIndex)) return undefined;
		const request = requestOf(itemIndex);
		return request === undefined ? sameSource(itemIndex) : find(request);
	};

	const hold = (itemIndex: number, note: Note): void => {
		held.set(itemIndex, note);
		inUse.add(note);
	};

	const add = (request: PaidRequest, paid: Paid): void => {
		const { itemIndex } = request;
		const note: Note = { ...request, source: sourceOf(itemIndex), executionId, runIndex, paid };
		notes.push(note);
		hold(itemIndex, note);
	};

	const unknownOutcome = (
		request: PaidRequest,
		plan: RequestPlan,
		problem: Problem,
	): UnknownOutcomeError => {
		const unknown = plan.call === 'message' ? problem : withId(problem);
		add(request, { unknown });
		return new UnknownOutcomeError(unknown);
	};

	/** A request that a Stop ends: the ID of its task may have arrived already. */
	const stopped = (plan: RequestPlan): Problem => {
		const response = run.requests.arriving.get(plan)?.();
		if (plan.call === 'message' || response === undefined || response === '') return STOPPED;
		return withId({ ...STOPPED, response });
	};

	return {
		expect: (itemIndex, asked) => {
			const { account } = run.address;
			const fingerprint = requestFingerprint(asked, account);
			const basis = requestBasis(asked, account);
			expected.set(itemIndex, fingerprint);
			bases.set(itemIndex, basis);
			return { itemIndex, fingerprint, basis };
		},
		has: (request) => find(request) !== undefined,
		payOnce: async (request, plan, read) => {
			const known = find(request);
			if (known !== undefined) {
				hold(request.itemIndex, known);
				const { unknown } = known.paid;
				if (unknown !== undefined) throw new UnknownOutcomeError(unknown);
				return known.paid;
			}
			const { itemIndex } = request;
			const sendOnce: SendOnce = async (...attempt) => {
				// A Stop ends it with a rejection: then it stays under way.
				sending.set(itemIndex, plan);
				const outcome = await run.sendOnce(...attempt);
				sending.delete(itemIndex);
				return outcome;
			};
			const body = await run.client
				.send(plan, sendOnce)
				.catch(
					async (error: unknown) =>
						await Promise.reject(
							error instanceof UnknownOutcomeError
								? unknownOutcome(request, plan, error.problem)
								: error,
						),
				);
			const paid = read(body);
			if (paid === undefined) {
				const response = JSON.stringify(withoutInlineImages(body));
				throw unknownOutcome(request, plan, { ...nothingUsable(plan.call), response });
			}
			add(request, paid);
			return paid;
		},
		withEarlier: (error, itemIndex) => {
			const note = notBegun(itemIndex);
			return note === undefined ? error : withPayment(error, note.paid, itemIndex);
		},
		itemsOfEarlier: (itemIndex) => {
			const note = notBegun(itemIndex);
			const items = note && itemsOfNote(note.paid, itemIndex);
			if (note !== undefined && items !== undefined) hold(itemIndex, note);
			return items;
		},
		note: (itemIndex, paid) => {
			const note = held.get(itemIndex);
			if (note !== undefined) note.paid = { ...note.paid, ...paid };
		},
		settle: (failed) => {
			const failedNotes = new Set([...failed].map((itemIndex) => held.get(itemIndex)));
			// The engine tries again when the first item has failed, and what was given out is lost then.
			const mayTryAgain = node.retryOnFail === true && failed.size > 0;
			const own = new Set(held.values());
			const kept = notes.filter((note) => {
				if (!own.has(note) && !isSameRun(note)) return true;
				return isTool ? failedNotes.has(note) || !own.has(note) : mayTryAgain;
			});
			if (!isTool) kept.forEach((note) => (note.delivered ||= own.has(note) || isSameRun(note)));
			// Calls that were opened before can still see it.
			else for (const note of own) if (!failedNotes.has(note)) note.delivered = true;
			keepOnly(notes, kept);
		},
		close: () => {
			// A Stop ended these, and the engine tries the node again all the same: it must still know.
			for (const [itemIndex, plan] of sending) {
				const request = requestOf(itemIndex);
				if (request !== undefined) add(request, { unknown: stopped(plan) });
			}
			held.forEach((note) => inUse.delete(note));
		},
		inWords: () => {
			const places = new Map([...held].map(([itemIndex, note]) => [note, itemIndex]));
			// What another call beside this one holds comes out there.
			const isOpen = (note: Note): boolean =>
				!note.delivered && note.executionId === executionId && !inUse.has(note);
			const open = notes.filter((note) => (places.has(note) ? !note.delivered : isOpen(note)));
			return paymentsInWords([
				...open.map((note) => ({
					itemIndex: places.get(note) ?? note.itemIndex,
					paid: note.paid,
				})),
				...[...sending].map(([itemIndex, plan]) => {
					const unknown = stopped(plan);
					return { itemIndex, paid: unknown.taskId === undefined ? undefined : { unknown } };
				}),
			]);
		},
	};
}
