import { createHash } from 'node:crypto';

/** A generator of numbers in 0..1 that gives the same sequence for the same seed. */
export type Random = () => number;

/** 32-bit number for a text; texts that differ a little give numbers that differ a lot. */
export function hash(text: string): number {
	return createHash('sha256').update(text).digest().readUInt32LE(0);
}

/** Mulberry32: small, fast, and good enough to draw pictures and faults with. */
export function seeded(seed: number): Random {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
	};
}
