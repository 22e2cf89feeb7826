/** The asynchronous tasks of a world's gateway: what becomes of them follows from their age. */
import type { Random } from '../../../simulator/seed.mjs';
import { clock } from '../time/take-over.mjs';
import { deliverJson, type Delivery } from '../wire/messages.mjs';
import { accountOf, refuse } from './accounts-of-world.mjs';
import type { Books, Charge, Received, Task } from './books.mjs';
import { entryFor } from './one-pixel-pictures.mjs';
import { BAD_WORDS, GOOD_WORDS, OPEN_WORDS, REASONS, type ServiceSetup } from './service-setup.mjs';

export class Tasks {
	private readonly issued = { generation: 0, edit: 0 };

	constructor(
		private readonly setup: ServiceSetup,
		private readonly random: Random,
		private readonly books: Books,
	) {}

	/** Accepts a task. */
	add(charge: Charge, kind: Task['kind'], createdAt: number): Task {
		const { taskSeconds, lateSeconds, failPercent, spelling } = this.setup;
		const [from, to] = taskSeconds;
		charge.fails = this.random() * 100 < failPercent;
		const words = charge.fails ? BAD_WORDS : GOOD_WORDS;
		const task: Task = {
			id: this.nextId(kind),
			kind,
			account: charge.account,
			charge,
			createdAt,
			settlesAt: createdAt + 1000 * (from + this.random() * Math.max(0, to - from)),
			visibleAt: createdAt + 1000 * lateSeconds,
			final: words[spelling % words.length]!,
		};
		charge.taskId = task.id;
		this.books.tasks.set(`${kind} ${task.id}`, task);
		return task;
	}

	private nextId(kind: Task['kind']): string {
		const number = (this.issued[kind] += 1);
		switch (this.setup.ids) {
			case 'digits':
				return `90071992547409${kind === 'edit' ? 1 : 0}${String(number).padStart(4, '0')}`;
			case 'strange':
				return `täsk/${number}?${kind}#. ..%2F&`;
			default:
				return `task_${Math.floor(this.random() * 2 ** 40).toString(16)}_${kind}${number}`;
		}
	}

	/** Answers a question about a task. */
	query(received: Received): Delivery {
		const { kind = 'generation', taskId: id = '' } = received;
		const account = accountOf(received.headers.authorization?.replace(/^Bearer /, ''));
		if (account === undefined) return refuse(401, 'API key invalid');
		const task = this.books.task(kind, id);
		if (task === undefined || task.account !== account || clock.now < task.visibleAt) {
			received.fate = '404';
			return refuse(404, `task ${id} does not exist`);
		}
		received.prompt = task.charge.prompt;
		if (clock.now < task.settlesAt) {
			const share = (clock.now - task.createdAt) / (task.settlesAt - task.createdAt);
			const word = OPEN_WORDS[(this.setup.spelling + Math.floor(share * 3)) % OPEN_WORDS.length];
			received.fate = `still ${String(word).trim()}`;
			return deliverJson({ id, status: word });
		}
		received.fate = task.final.trim();
		if (task.charge.fails) {
			task.charge.toldFailed = true;
			const message = REASONS[this.setup.spelling % REASONS.length];
			return deliverJson({ id, status: task.final, error: { message, type: 'failed' } });
		}
		const { images, inline } = task.charge;
		const data = images.map((url) => entryFor(url, inline));
		return deliverJson({ id, status: task.final, data });
	}
}

/** Which task a path is about: none at the paths of other gateways, where an ID would have no kind. */
export function taskIn({ pathname }: URL): Pick<Received, 'kind' | 'taskId'> {
	const [, , , endpoint, raw = ''] = pathname.split('/');
	if (endpoint !== 'generations' && endpoint !== 'edits') return {};
	return { kind: endpoint === 'edits' ? 'edit' : 'generation', taskId: decodeURIComponent(raw) };
}
