/**
 * Puts the time and the random numbers of this process under the world's control. To be imported before
 * anything that loads n8n: n8n's `sleep`, the engine's own waits, the time-outs of requests and the
 * time of day are all read from the names that are replaced here.
 */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { VirtualClock } from './virtual-clock.mjs';

type Random = () => number;

export const clock = new VirtualClock();

/** The platform's own, for who really has to wait. */
export const real = {
	setTimeout: globalThis.setTimeout,
	setImmediate: globalThis.setImmediate,
	now: performance.now.bind(performance),
};

let ofWorld: Random = Math.random;

const random: Random = () => ofWorld();

/** The random numbers of a world; to be set before each. */
export function setRandom(next: Random): void {
	ofWorld = next;
}

/** What Node.js gives back for a timer, as far as anybody looks at it. */
class Handle {
	constructor(readonly id: number) {}
	ref(): this {
		return this;
	}
	unref(): this {
		return this;
	}
	hasRef(): boolean {
		return true;
	}
	refresh(): this {
		return this;
	}
	close(): this {
		clock.cancel(this.id);
		return this;
	}
	[Symbol.toPrimitive](): number {
		return this.id;
	}
}

const set = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Handle =>
	new Handle(clock.schedule(Number(ms), () => callback(...args)));
const clear = (handle: unknown): void => {
	if (handle instanceof Handle) clock.cancel(handle.id);
	else if (typeof handle === 'number') clock.cancel(handle);
};

const RealDate = Date;
class WorldDate extends RealDate {
	constructor(...args: unknown[]) {
		if (args.length === 0) super(clock.now);
		else super(...(args as [number]));
	}
	static override now(): number {
		return clock.now;
	}
}

function aborted(ms: number): AbortSignal {
	const controller = new AbortController();
	const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
	clock.schedule(ms, () => controller.abort(reason), 'process', true);
	return controller.signal;
}

function bytes(size: number): Buffer {
	return Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
}

function uuid(): string {
	const hex = bytes(16).toString('hex');
	return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
}

function replace(target: object, replaced: Record<string, unknown>): void {
	for (const [name, value] of Object.entries(replaced)) {
		Object.defineProperty(target, name, { configurable: true, writable: true, value });
	}
}

let began = false;

/** From here on no time passes in this process but the world's. */
export function takeOver(): void {
	if (began) return;
	began = true;
	replace(globalThis, {
		setTimeout: set,
		clearTimeout: clear,
		// Only n8n itself sets any, to tidy up now and then; the package may not, and is linted for it.
		setInterval: () => new Handle(0),
		clearInterval: () => undefined,
		Date: WorldDate,
	});
	replace(performance, { now: () => clock.now });
	replace(AbortSignal, { timeout: aborted });
	replace(Math, { random });
	const crypto = createRequire(import.meta.url)('node:crypto') as Record<string, unknown>;
	replace(crypto, { randomUUID: uuid, randomBytes: bytes });
	syncBuiltinESMExports();
}
