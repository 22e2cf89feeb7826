import type { ChatTurn } from '../../gateway/messages/chat';
import { readChatResponse, type ChatResponse } from '../../gateway/messages/chatResponse';
import type { Piece } from '../../gateway/messages/messageStream';
import { digestOf, requestFingerprint } from '../../gateway/protocol/fingerprint';
import { nonEmptyString, type JsonObject } from '../../gateway/util/json';
import { createKeyFilter, withoutSplitKey, type KeyFilter } from '../../gateway/util/keyFilter';
import {
	idsInUse,
	keepTurn,
	restoreTurns,
	type KeptTurn,
} from '../../gateway/messages/thinkingHistory';
import { wasNotAccepted } from '../../gateway/protocol/outcome';
import type { RequestPlan } from '../../gateway/protocol/requestPlan';
import {
	GatewayError,
	UnknownOutcomeError,
	withDetails,
	type Problem,
} from '../../gateway/util/gatewayError';
import { createIdGiver } from '../../gateway/messages/toolIds';
import { cleanApiKey } from '../../gateway/protocol/auth';
import { Requests, RunEnded } from '../shared/transport/inFlight';
import type { Run } from '../shared/run/runContext';
import { createSendOnce } from '../shared/transport/http';
import { readStreamedResponse, type Arrived } from './streamedResponse';
import type { PaidMessages } from './paidMessages';

/** One message of a chat. */
export interface Asking {
	/** The request, once it is known what of the conversation goes back as it came. */
	plan: (turns: ChatTurn[]) => RequestPlan;
	model: string;
	/** Any of them ends it. */
	signals: AbortSignal[];
	/** Gets what is written as soon as it is there. */
	onPiece?: (piece: Piece) => void;
}

export interface MessengerOptions {
	run: Run;
	/** Turns that have to go back as they came; they outlive the model. */
	kept: KeptTurn[];
	paid: PaidMessages;
	/** Called when a response is handed out that an earlier try has paid for. */
	onPaidBefore: () => void;
}

/** Sends the messages of a chat, each of them once. */
export class Messenger {
	/** What is under way ends with the model: nobody listens any more. */
	private readonly closing = new AbortController();

	private readonly asked = new Set<Promise<ChatResponse>>();

	private readonly key: string;

	private readonly keyFilter = (): KeyFilter =>
		createKeyFilter(this.key, this.options.run.address.withoutKey);

	constructor(private readonly options: MessengerOptions) {
		const { authentication } = options.run.address;
		this.key = cleanApiKey(authentication.credentialsDecrypted?.data?.apiKey);
	}

	/**
	 * Sends a message, unless an earlier try has paid for it.
	 *
	 * @throws GatewayError, UnknownOutcomeError where it may have been charged, or RunEnded when the
	 *   execution was stopped
	 */
	async ask(given: ChatTurn[], asking: Asking): Promise<ChatResponse> {
		const receiving = this.receive(given, asking);
		this.asked.add(receiving);
		try {
			const response = await receiving;
			return { ...response, parts: withoutSplitKey(response.parts, this.keyFilter) };
		} finally {
			this.asked.delete(receiving);
		}
	}

	/** To be called when the model is not needed any more. */
	async close(): Promise<void> {
		this.closing.abort();
		// What became of them is noted before anybody can ask again.
		await Promise.allSettled(this.asked);
		this.options.paid.close();
	}

	private async receive(given: ChatTurn[], asking: Asking): Promise<ChatResponse> {
		const { kept, paid, onPaidBefore, run } = this.options;
		const { account } = run.address;
		const speaker = digestOf([account, asking.model]);
		const turns = restoreTurns(kept, given, speaker);
		const plan = asking.plan(turns);
		const fingerprint = requestFingerprint(withoutStream(plan), account);
		const before = paid.take(fingerprint);
		if (before?.body !== undefined) {
			onPaidBefore();
			return readChatResponse(before.body, (index) => before.callIds[index] ?? '');
		}
		try {
			const body = await this.send(plan, asking);
			try {
				const seed = digestOf([fingerprint, body]);
				const response = readChatResponse(body, createIdGiver(idsInUse(kept, given), seed));
				const { content: blocks, callIds: ids } = response;
				keepTurn(kept, { speaker, turns, blocks, ids });
				paid.keep(fingerprint, body, ids);
				return response;
			} catch (error) {
				// Whatever is wrong with it (it may be nested too deep, say), it was paid for.
				return await Promise.reject(
					error instanceof UnknownOutcomeError ? error : new UnknownOutcomeError(UNREADABLE),
				);
			}
		} catch (error) {
			if (error instanceof UnknownOutcomeError) paid.refuse(fingerprint, error.problem);
			return await Promise.reject(error);
		}
	}

	private async send(plan: RequestPlan, { signals, onPiece }: Asking): Promise<JsonObject> {
		const { run } = this.options;
		const { withoutKey } = run.address;
		const requests = new Requests();
		const signal = AbortSignal.any([...signals, this.closing.signal]);
		let cancel = (): void => undefined;
		const cancelled = new Promise<never>((_, reject) => {
			cancel = () => {
				reject(new RunEnded('The call was ended'));
				requests.abort();
			};
		});
		cancelled.catch(() => undefined);
		run.stopped.catch(cancel);
		signal.addEventListener('abort', cancel, { once: true });
		if (signal.aborted) cancel();

		const arrived: Arrived = { start: '', isStream: false, callsTool: false };
		const sendOnce = createSendOnce({
			...run,
			requests,
			read: async (response) =>
				await readStreamedResponse(response, {
					onPiece: onPiece ?? (() => undefined),
					withoutKey,
					keyFilter: this.keyFilter,
					arrived,
				}),
		});
		let mayBeCharged = false;
		try {
			return await Promise.race([
				run.client.send(plan, async (...args) => {
					// Between two attempts nothing is under way that could be aborted.
					if (signal.aborted) return await cancelled;
					mayBeCharged = true;
					const outcome = await sendOnce(...args);
					mayBeCharged = !wasNotAccepted(outcome);
					return outcome;
				}),
				cancelled,
			]);
		} catch (error) {
			return await Promise.reject(this.explain(error, mayBeCharged, arrived));
		} finally {
			signal.removeEventListener('abort', cancel);
		}
	}

	/** What a failure means: only a Stop of the execution stays the end of the run. */
	private explain(error: unknown, mayBeCharged: boolean, arrived: Arrived): unknown {
		const { context } = this.options.run;
		const isStopped = context.getExecutionCancelSignal()?.aborted === true;
		if (error instanceof RunEnded && isStopped) return error;
		const explained = !(error instanceof RunEnded)
			? error
			: mayBeCharged
				? new UnknownOutcomeError(GIVEN_UP)
				: new GatewayError(NOT_SENT);
		if (!(explained instanceof UnknownOutcomeError)) return explained;
		const { description, response } = explained.problem;
		return withDetails(explained, {
			description: arrived.callsTool ? `The tool wasn't called. ${description}` : description,
			response: response ?? nonEmptyString(arrived.start),
		});
	}
}

const GIVEN_UP: Problem = {
	message: 'The outcome is unknown: the agent ended the call before the response arrived',
	description:
		"You may have been charged, so the message wasn't sent again. Check the usage log in the gateway's console before you send it again.",
};

const UNREADABLE: Problem = {
	message: "The gateway accepted the message, but its response can't be read",
	description:
		"You may have been charged, so the message wasn't sent again. Check the usage log in the gateway's console before you send it again.",
};

const NOT_SENT: Problem = {
	message: 'The agent ended the call before the message was accepted',
	description: "You weren't charged.",
};

/** The same message costs the same, whether its response is streamed or not. */
function withoutStream(plan: RequestPlan): RequestPlan {
	return { ...plan, body: { ...plan.body, stream: undefined } };
}
