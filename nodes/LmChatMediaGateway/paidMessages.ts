import type { IExecuteFunctions, INode } from 'n8n-workflow';
import { isJsonObject, type JsonObject } from '../../gateway/util/json';
import { UnknownOutcomeError, type Problem } from '../../gateway/util/gatewayError';
import { runIndexOf } from '../shared/run/runContext';

/** What is kept in the node's context: JSON that n8n stores with the execution. */
interface Notes {
	executionId: string;
	/** Messages of which nobody knows what became, by fingerprint. */
	unknown: Record<string, Problem>;
	/** The latest run of each node that asks. */
	runs: Record<string, AskingRun>;
}

interface AskingRun {
	runIndex: number;
	/** What was paid for in it. The name is that of executions that are stored already. */
	answers: PaidResponse[];
}

/** A message that was paid for, and what it brought. */
export interface PaidResponse {
	fingerprint: string;
	/** Undefined where it had to give way to later ones. */
	body?: JsonObject;
	/** Its length as JSON. */
	size: number;
	/** The IDs under which the agent knows its tool calls. */
	callIds: string[];
}

/** What the messages of an execution have cost, kept over the tries of Retry On Fail. */
export interface PaidMessages {
	/**
	 * What an earlier try has paid for the same message; undefined if it is to be sent.
	 *
	 * @throws UnknownOutcomeError if it may have been charged, and nobody knows what became of it
	 */
	take(fingerprint: string): PaidResponse | undefined;
	/** Keeps a response that came. */
	keep(fingerprint: string, body: JsonObject, callIds: string[]): void;
	/** Keeps what is known of a message that is not to be sent again in this execution. */
	refuse(fingerprint: string, problem: Problem): void;
	/** To be called when the model is not needed any more. */
	close(): void;
}

const KEY = 'mediaGatewayPaidMessages';

/** In characters of JSON, for all responses of a run together. */
const MOST_KEPT = 8_000_000;

/** One try of the node that asks: from its first model to the end of its last. */
interface Try {
	open: number;
	/** Responses that this try has already been given. */
	given: Set<PaidResponse>;
}

/** The tries that are under way in this process. */
const tries = new WeakMap<AskingRun, Try>();

/**
 * The notes on what messages have cost. They lie in the context of the chat model's node, which
 * outlives the tries of Retry On Fail. What can be told apart, and what is safe for money:
 *
 * - **Unknown outcome:** the same message is refused as long as the execution lasts, whoever asks.
 *   Another execution ID means that a person has decided to run it again.
 * - **Another try of the same run** (same execution, same node that asks, same run index, and no model
 *   of the earlier try is open any more: n8n closes them when the node has ended) has lost what the try
 *   before has made: each response of that try is handed out once more instead of being paid twice. Who
 *   wants another response to the same message runs the workflow again.
 * - **The same message again in the same try, in another run** (a loop) **or from another node** is
 *   meant: the first response was delivered, so it is sent and paid. An agent that is a tool has a run of
 *   its own for each call and, in agents before n8n 2, for each try: there only unknown outcomes are
 *   refused.
 */
export function openPaidMessages(context: IExecuteFunctions): PaidMessages {
	const notes = notesOf(context);
	const run = runOf(context, notes);
	const current = tries.get(run) ?? { open: 0, given: new Set<PaidResponse>() };
	// All models of the try before are closed: this is another one.
	if (current.open === 0) current.given.clear();
	current.open += 1;
	tries.set(run, current);
	let isOpen = true;

	return {
		take: (fingerprint) => {
			const response = run.answers.find(
				(one) => one.fingerprint === fingerprint && !current.given.has(one),
			);
			const problem = response === undefined ? notes.unknown[fingerprint] : undefined;
			if (problem !== undefined) throw new UnknownOutcomeError(problem);
			if (response === undefined) return undefined;
			if (response.body === undefined) throw new UnknownOutcomeError(TOO_LARGE);
			current.given.add(response);
			return response;
		},
		keep: (fingerprint, body, callIds) => {
			const response = { fingerprint, body, size: JSON.stringify(body).length, callIds };
			run.answers.push(response);
			current.given.add(response);
			makeRoom(run.answers);
		},
		refuse: (fingerprint, problem) => {
			notes.unknown[fingerprint] = problem;
		},
		close: () => {
			if (isOpen) current.open -= 1;
			isOpen = false;
		},
	};
}

const TOO_LARGE: Problem = {
	message: 'An earlier try already paid for this message, but its response is no longer available',
	description:
		"The responses of this run were too large to keep, and the message wasn't sent again. To send it again, run the workflow again.",
};

/** The oldest responses give way. That they were paid for is kept. */
function makeRoom(responses: PaidResponse[]): void {
	let total = responses.reduce((sum, { size }) => sum + size, 0);
	for (const response of responses.slice(0, -1)) {
		if (total <= MOST_KEPT) return;
		total -= response.size;
		response.body = undefined;
		response.size = 0;
	}
}

function notesOf(context: IExecuteFunctions): Notes {
	const store = context.getContext('node') as { [KEY]?: unknown };
	const executionId = context.getExecutionId() ?? '';
	const stored = store[KEY];
	const isOfThis =
		isJsonObject(stored) &&
		stored.executionId === executionId &&
		isJsonObject(stored.unknown) &&
		isJsonObject(stored.runs);
	const notes = isOfThis ? (stored as unknown as Notes) : { executionId, unknown: {}, runs: {} };
	store[KEY] = notes;
	return notes;
}

/** What is noted of the run that asks. What an earlier run was given has left its node. */
function runOf(context: IExecuteFunctions, { runs }: Notes): AskingRun {
	const runIndex = runIndexOf(context);
	// Within an agent that is a tool of another agent, the engine runs the outer one.
	const { parentNode } = context as { parentNode?: Partial<INode> };
	const asking = `by ${context.getExecuteData().node.name} ${parentNode?.name ?? ''}`;
	const known = runs[asking];
	const run = known?.runIndex === runIndex ? known : { runIndex, answers: [] };
	runs[asking] = run;
	return run;
}
