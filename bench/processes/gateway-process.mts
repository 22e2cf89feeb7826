/**
 * The embedded gateway in a process of its own, so that its work does not count as that of whoever
 * is measured. It is started and asked by `openTarget`.
 */
import { startGateway, type Gateway, type GatewayOptions } from '../../simulator/gateway.mjs';
import { MODEL } from '../work.mjs';

export type Command =
	| { name: 'start'; options: GatewayOptions }
	/** Creates tasks that live for so many seconds from the end of this command on. */
	| { name: 'submit'; lifetimes: number[] }
	/** Forgets what it received; counts from now on. */
	| { name: 'reset' }
	| { name: 'report' }
	| { name: 'close' };

/** What the gateway saw since the last reset. */
export interface Report {
	/** Requests by kind: `submit`, `sync`, `poll`, `download`, `listing`. */
	counts: Record<string, number>;
	total: number;
	/** How many were refused with 429. */
	refused: number;
	/** How many generations and edits were charged. */
	paid: number;
	/** For each finished task that was polled: from its end to that poll, milliseconds. */
	delaysMs: number[];
}

/** Takes pictures of any size, so that uploads of 20 MB can be measured. */
const models = [
	{
		model: MODEL,
		media_type: 'image',
		modes: ['text_to_image', 'image_edit'],
		generation_modes: ['sync', 'async'],
		inputs: { reference_images: { max_count: 16, max_size_mb: 64, formats: ['png', 'jpeg'] } },
	},
];

const BATCH = 50;

let gateway: Gateway;
/** The gateway's clock is ahead by so much; while tasks are submitted it stands still. */
let aheadMs = 0;
let frozenAt: number | undefined;

const now = () => frozenAt ?? Date.now() + aheadMs;

async function start(options: GatewayOptions): Promise<{ url: string; key: string }> {
	gateway = await startGateway({ imageSize: 32, models, ...options, now });
	return { url: gateway.url, key: gateway.keys[0] };
}

/**
 * Under a limit of requests per second submitting would take as long as the measurement: the clock
 * is moved on by a second after each batch instead, and tasks live as much longer as they are
 * submitted earlier.
 */
async function submit(lifetimes: number[]): Promise<string[]> {
	const perBatch = Math.min(BATCH, Number(process.env.BENCH_LIMIT ?? BATCH));
	const batches = Math.ceil(lifetimes.length / perBatch);
	const ids: string[] = [];
	for (let batch = 0; batch < batches; batch += 1) {
		frozenAt = now() + 1001;
		const moreMs = (batches - batch) * 1001;
		const part = lifetimes.slice(batch * perBatch, (batch + 1) * perBatch);
		ids.push(...(await Promise.all(part.map((seconds) => submitOne(seconds + moreMs / 1000)))));
	}
	frozenAt = now() + 1001;
	aheadMs = frozenAt - Date.now();
	frozenAt = undefined;
	forget();
	return ids;
}

async function submitOne(seconds: number): Promise<string> {
	const response = await fetch(`${gateway.url}/v1/images/generations?async=true`, {
		method: 'POST',
		headers: { authorization: `Bearer ${gateway.keys[0]}`, 'content-type': 'application/json' },
		body: JSON.stringify({ model: MODEL, prompt: `[slow ${seconds}] a harbor at dawn` }),
	});
	const { id } = (await response.json()) as { id?: string };
	if (id === undefined) throw new Error(`The gateway refused a task with ${response.status}`);
	return id;
}

let paidBefore = 0;

/** Tasks are kept: those that were submitted for a measurement are part of it. */
function forget(): void {
	gateway.requests.length = 0;
	paidBefore = gateway.paid;
}

function report(): Report {
	const counts: Record<string, number> = {};
	const seen = new Set<string>();
	const delaysMs: number[] = [];
	let refused = 0;
	for (const { call, status, path, at } of gateway.requests) {
		counts[call] = (counts[call] ?? 0) + 1;
		if (status === 429) refused += 1;
		if (call !== 'poll' || status !== 200) continue;
		const id = path.slice(path.lastIndexOf('/') + 1);
		const task = gateway.task(id) as { createdAt: number; lifetime: number } | undefined;
		if (task === undefined || seen.has(id)) continue;
		const delay = at - task.createdAt - task.lifetime;
		if (delay < 0) continue;
		seen.add(id);
		delaysMs.push(delay);
	}
	return {
		counts,
		total: gateway.requests.length,
		refused,
		paid: gateway.paid - paidBefore,
		delaysMs,
	};
}

async function obey(command: Command): Promise<unknown> {
	switch (command.name) {
		case 'start':
			process.env.BENCH_LIMIT = String(command.options.requestsPerSecond ?? BATCH);
			return await start(command.options);
		case 'submit':
			return await submit(command.lifetimes);
		case 'reset':
			return forget();
		case 'report':
			return report();
		case 'close':
			await gateway.close();
			process.disconnect();
			return undefined;
	}
}

process.on('message', ({ id, command }: { id: number; command: Command }) => {
	obey(command).then(
		(value) => process.connected && process.send?.({ id, value }),
		(error: Error) => process.send?.({ id, error: error.message }),
	);
});
// Whoever started it has ended, perhaps by force.
process.once('disconnect', () => process.exit(0));
