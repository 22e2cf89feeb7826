import { messageHints } from '../../gateway/errors/messageAdvice';
import type { Conversation } from '../../gateway/messages/chat';
import { readChatResponse, type ChatResponse } from '../../gateway/messages/chatResponse';
import { planMessage, type MessageSettings } from '../../gateway/messages/message';
import { keepTurn, restoreTurns, type StoredTurn } from '../../gateway/messages/thinkingHistory';
import { requestFingerprint } from '../../gateway/protocol/fingerprint';
import { chargedAfter } from '../../gateway/protocol/outcome';
import type { PaidPlan } from '../../gateway/protocol/requestPlan';
import { GatewayError, type Problem, unknownOutcome } from '../../gateway/protocol/gatewayError';
import { nonEmptyString, type JsonObject } from '../../util/json';
import type { Run } from '../shared/run/runContext';
import { Requests } from '../../gateway/wire/inFlight';
import type { ChatPaymentLog } from './chatPaymentLog';
import { readStreamedResponse } from '../../gateway/messages/streamedResponse';
import { digestOf } from '../../util/digest';
import { RunEnded } from '../../gateway/protocol/runEnded';

/** How the response to a message arrives. */
export interface MessageCall {
	/** Signals that each end the call. */
	signals: AbortSignal[];
	/** Called with the text as soon as it arrives. */
	onText?: (text: string) => void;
}

/** A message of a chat, whose turns are restored before it is sent. */
export type ChatRequest = MessageSettings & Conversation;

/** Sends the messages of a chat, each of them once. */
export class Messenger {
	/** Ends the calls in progress when the model is closed. */
	private readonly closing = new AbortController();

	private readonly inProgress = new Set<Promise<ChatResponse>>();

	/**
	 * @param storedTurns the turns that must go back unchanged; they outlive the model
	 * @param addHint shows a hint to the user once
	 */
	constructor(
		private readonly run: Run,
		private readonly storedTurns: StoredTurn[],
		private readonly payments: ChatPaymentLog,
		private readonly addHint: (hint: string) => void,
	) {}

	/**
	 * Sends a message, unless an earlier try has paid for it.
	 *
	 * @throws GatewayError, UnknownOutcomeError where it may have been charged, or RunEnded when the
	 *   execution was stopped
	 */
	async send(request: ChatRequest, call: MessageCall): Promise<ChatResponse> {
		const sending = this.payments.during(async () => await this.sendOrReuse(request, call));
		this.inProgress.add(sending);
		try {
			const response = await sending;
			if (response.finishReason === 'length') {
				this.addHint("A response was cut off at 'Max Tokens' of the chat model.");
			}
			const { withoutKeyInContent } = this.run.gateway.account;
			if (response.hint !== undefined) this.addHint(withoutKeyInContent(response.hint));
			// From the whole text, because a key may be split across several blocks.
			const parts = response.parts.map((part) =>
				'text' in part ? { ...part, text: withoutKeyInContent(part.text) } : part,
			);
			return { ...response, parts };
		} finally {
			this.inProgress.delete(sending);
		}
	}

	/** Called when the model isn't needed any more. */
	async close(): Promise<void> {
		this.closing.abort();
		// The outcomes of calls in progress are recorded before the next try.
		await Promise.allSettled(this.inProgress);
		this.payments.close();
	}

	private async sendOrReuse(request: ChatRequest, call: MessageCall): Promise<ChatResponse> {
		const { run, storedTurns, payments } = this;
		const { id: account } = run.gateway.account;
		const model = digestOf([account, request.model]);
		const turns = restoreTurns(storedTurns, request.messages, model);
		const plan = planMessage({ ...request, messages: turns });
		messageHints(plan.body ?? {}).forEach(this.addHint);
		// A streamed message and one that isn't streamed are the same payment.
		const unstreamed = { ...plan, body: { ...plan.body, stream: undefined } };
		const fingerprint = requestFingerprint(unstreamed, account);
		const read = (body: JsonObject): ChatResponse =>
			readChatResponse(body, digestOf([fingerprint, body]));
		const before = payments.take(fingerprint);
		if (before !== undefined) {
			this.addHint(PAID_BEFORE);
			return read(before);
		}
		try {
			const message = await this.request(plan, call);
			const response = read(message);
			keepTurn(storedTurns, { model, turns, blocks: response.content, ids: response.callIds });
			payments.add(fingerprint, { message });
			return response;
		} catch (error) {
			const failure =
				error instanceof GatewayError || error instanceof RunEnded
					? error
					: unknownOutcome(UNREADABLE);
			if (failure instanceof GatewayError && failure.code === 'outcomeUnknown') {
				payments.add(fingerprint, { unknown: failure.problem });
			}
			throw failure;
		}
	}

	private async request(plan: PaidPlan, { signals, onText }: MessageCall): Promise<JsonObject> {
		const { run } = this;
		const { createKeyFilter } = run.gateway.account;
		const requests = new Requests();
		const signal = AbortSignal.any([...signals, this.closing.signal]);
		const ended = new Promise<never>((_, reject) => {
			const end = (): void => {
				reject(new RunEnded('The call was ended'));
				requests.abort();
			};
			run.gateway.stopped.catch(end);
			signal.addEventListener('abort', end, { once: true });
			if (signal.aborted) end();
		});
		ended.catch(() => undefined);
		const { client, sendOnce } = run.gateway.payer({
			requests,
			read: async (response, chunks) =>
				await readStreamedResponse(response, { onText, createKeyFilter, chunks }),
		});
		let mayBeCharged = false;
		try {
			const { json } = await Promise.race([
				client.requestPaid(plan, async (...args) => {
					// Between two attempts there is no request to abort.
					if (signal.aborted) return await ended;
					mayBeCharged = true;
					const outcome = await sendOnce(...args);
					mayBeCharged = chargedAfter(outcome) === 'maybe';
					return outcome;
				}),
				ended,
			]);
			return json;
		} catch (error) {
			if (!(error instanceof RunEnded) || run.gateway.isStopped()) throw error as Error;
			const response = nonEmptyString(requests.arriving.get(plan)?.());
			throw mayBeCharged ? unknownOutcome({ ...GIVEN_UP, response }) : new GatewayError(NOT_SENT);
		}
	}
}

const PAID_BEFORE =
	'An earlier try had already paid for a message, so its response was used again. To get another response, run the workflow again.';

const MAY_BE_CHARGED =
	"You may have been charged, so the message wasn't sent again. Check the usage log in the gateway's console before you send it again.";

const GIVEN_UP: Problem = {
	message: 'The outcome is unknown: the agent ended the call before the response arrived',
	description: MAY_BE_CHARGED,
};

const UNREADABLE: Problem = {
	message: "The gateway accepted the message, but its response can't be read",
	description: MAY_BE_CHARGED,
};

const NOT_SENT: Problem = {
	message: 'The agent ended the call before the message was accepted',
	description: "You weren't charged.",
};
