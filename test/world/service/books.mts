/** The gateway's own books: who asked for what, when it was charged, and what of it was told. */

export type Call = 'submit' | 'sync' | 'poll' | 'download' | 'listing' | 'message' | 'other';
export type Kind = 'generation' | 'edit' | 'message';

/** One request that arrived, charged or not. */
export interface Received {
	number: number;
	/** Milliseconds since 1970, by the world's clock. */
	at: number;
	/** The part of the story that it belongs to: a run, a retry, and so on. */
	step: number;
	call: Call;
	method: string;
	host: string;
	/** With its protocol. */
	origin: string;
	path: string;
	headers: Record<string, string>;
	/** A key stands elsewhere than in its headers. */
	spills: boolean;
	account?: string;
	prompt?: string;
	taskId?: string;
	kind?: Kind;
	/** What was done to it, in words of the story. */
	fate: string;
	/** What the caller was told, as far as it was sent. */
	status?: number;
}

/** One request that was accepted. */
export interface Charge {
	number: number;
	at: number;
	step: number;
	call: Call;
	kind: Kind;
	account: string;
	/** The text that it was about, as it arrived. */
	prompt: string;
	model: string;
	/** How many images were asked for. */
	count: number;
	taskId?: string;
	/** By its model's price; undefined: there is none. */
	cost?: number;
	/** Addresses of its images, or the text of its reply. */
	images: string[];
	/** As it has to come out: its text without the key, and as it was sent. */
	reply?: string;
	sent?: string;
	/** Which file came with it. */
	file?: string;
	/** Its images come inside the response. */
	inline: boolean;
	/** What has reached the caller of the response in the action of the charge, as text. */
	told: string;
	/** Whether the response was the right one, in the form of docs/protocol.md. */
	right: boolean;
	/** Whether all of it has reached the caller, and when. */
	heard: boolean;
	heardAt?: number;
	/** Whether its task ends without an image. */
	fails: boolean;
	/** The task was told to have failed. */
	toldFailed?: boolean;
	/** It was said of the task, once at least, that it has no image, or does not exist. */
	toldEmpty?: boolean;
}

export interface Task {
	id: string;
	kind: Exclude<Kind, 'message'>;
	account: string;
	charge: Charge;
	createdAt: number;
	settlesAt: number;
	visibleAt: number;
	final: string;
}

export class Books {
	readonly requests: Received[] = [];
	readonly charges: Charge[] = [];
	readonly tasks = new Map<string, Task>();
	/** Which charge an image belongs to, by its path. */
	readonly pictures = new Map<string, { charge: Charge; index: number }>();
	/** The step that is under way. */
	step = 0;

	receive(request: Omit<Received, 'number' | 'step' | 'fate'>): Received {
		const received = {
			...request,
			number: this.requests.length,
			step: this.step,
			fate: 'answered',
		};
		this.requests.push(received);
		return received;
	}

	/** The task that an item is about; one that does not say its kind is of either. */
	taskOf({ taskType, taskId }: { taskType?: unknown; taskId?: unknown }): Task | undefined {
		const kinds = taskType === undefined ? ['generation', 'edit'] : [String(taskType)];
		const [found] = kinds.flatMap((kind) => this.task(kind, String(taskId)) ?? []);
		return found;
	}

	task(kind: string, id: string): Task | undefined {
		return this.tasks.get(`${kind} ${id}`);
	}
}
