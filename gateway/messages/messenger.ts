import { digestOf } from '../../util/digest';
import type { JsonObject } from '../../util/json';
import { eraseIn } from '../../util/keyEraser';
import { UNRECORDED, type Journal } from '../journal';
import { laterBill, type Bill } from '../protocol/bill';
import type { Account } from '../protocol/account';
import { GatewayError, type Advice } from '../protocol/gatewayError';
import type { GoodResponse } from '../protocol/outcome';
import type { PaidPlan } from '../protocol/requestPlan';
import { readBilling } from '../responses/paidResponse';
import { RunEnded } from '../wire/inFlight';
import type { ReadBody } from '../wire/sendOnce';
import type { Conversation } from './chat';
import { readChatResponse, type ChatResponse } from './chatResponse';
import { hintsOf, planMessage, type MessageSettings } from './message';
import { readStreamedResponse } from './streamedResponse';
import { keepTurn, restoreTurns, type StoredTurn } from './thinkingHistory';

/** What a chat needs of its run's gateway. */
interface ChatGateway {
	account: Account;
	payFor<R>(
		plan: PaidPlan,
		read: (response: GoodResponse) => R | undefined,
		entry: { journal: Journal<undefined, R>; key: undefined },
		readBody: ReadBody,
	): Promise<R>;
	isStopped(): boolean;
}

/**
 * How long a person in a chat waits for a message that is refused: a fallback model may answer, and this
 * one is asked again at each of its turns.
 */
const PATIENCE_MS = 10_000;

/** How the response to a message arrives. */
interface MessageCall {
	/** Signals that each end the call. */
	signals: AbortSignal[];
	/** Called with the text as soon as it arrives. */
	onText?: (text: string) => void;
}

/** A message of a chat, whose turns are restored before it is sent. */
export type ChatRequest = MessageSettings & Conversation;

/**
 * Sends the messages of a chat. It keeps no record of them: whoever runs the agent or chain again, as
 * Retry On Fail does, sends its messages again.
 */
export class Messenger {
	/** Ends the calls in progress when the model is closed. */
	private readonly closing = new AbortController();

	/**
	 * @param stored the turns that must go back unchanged; they outlive the model
	 * @param addHint shows a hint to the user once
	 */
	constructor(
		private readonly gateway: ChatGateway,
		private readonly stored: StoredTurn[],
		private readonly addHint: (hint: Advice) => void,
	) {}

	/**
	 * Sends a message.
	 *
	 * @returns its response, and what it cost by the gateway's bill
	 * @throws GatewayError, with the code `outcomeUnknown` where it may have been charged, or RunEnded when the
	 *   execution was stopped
	 */
	async send(request: ChatRequest, call: MessageCall): Promise<ChatResponse & { bill: Bill }> {
		const { gateway, stored } = this;
		const { id: account, withoutKey } = gateway.account;
		const model = digestOf([account, request.model]);
		const turns = restoreTurns(stored, request.messages, model);
		const message = { ...request, messages: turns };
		const signal = AbortSignal.any([...call.signals, this.closing.signal]);
		const plan = { ...planMessage(message), patienceMs: PATIENCE_MS, signal };
		hintsOf(message).forEach(this.addHint);
		const { body, bill } = await this.request(plan, call);
		const response = readChatResponse(body, digestOf([plan.body, body]));
		keepTurn(stored, { model, turns, blocks: response.content, ids: response.callIds });
		if (response.hint !== undefined) this.addHint(eraseIn(response.hint, withoutKey));
		// From the whole text, because a key may be split across several blocks.
		const parts = response.parts.map((part) =>
			'text' in part ? { ...part, text: withoutKey(part.text) } : part,
		);
		return { ...response, parts, bill };
	}

	/** Called when the model isn't needed any more. */
	close(): void {
		this.closing.abort();
	}

	/** Gets the response to a message, unless the agent or a Stop ends the call before. */
	private async request(
		plan: PaidPlan,
		{ onText }: MessageCall,
	): Promise<{ body: JsonObject; bill: Bill }> {
		const { gateway } = this;
		const read = (response: GoodResponse) => ({
			body: response.json,
			bill: laterBill(readBilling(response), {}),
		});
		const unrecorded = { journal: UNRECORDED, key: undefined };
		const sending = gateway.payFor(
			plan,
			read,
			unrecorded,
			async (response, reading) => await readStreamedResponse(response, { ...reading, onText }),
		);
		return await sending.catch((error: unknown) => {
			const isEnded = plan.signal?.aborted === true;
			// A Stop may end the agent first.
			if (isEnded && gateway.isStopped()) throw new RunEnded('The execution was stopped');
			if (!isEnded || !(error instanceof RunEnded)) throw error as Error;
			throw new GatewayError({
				message: 'The agent ended the call before the message was sent',
				description: "Nothing was sent, and you weren't charged.",
			});
		});
	}
}
