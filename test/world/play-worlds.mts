/**
 * Plays random worlds, each made from one seed, until something breaks an invariant.
 *
 *   npm run world -- --worlds 1000              so many, from a fresh seed
 *   npm run world -- --seed 4711                the world of this seed, with its story
 *   npm run world -- --seed 1 --worlds 1000     those of the seeds 1 to 1000
 *   npm run world -- --minutes 30               as many as there is time for
 *   npm run world -- --first 27 --worlds 200    before them the world of seed 27, with its story
 */
import { parseArgs } from 'node:util';
import { theEngine } from './execution/engine.mjs';
import { playSeed, warmUp } from './batch.mjs';
import { bytesBefore, leak } from './memory.mjs';

const text = { type: 'string' } as const;
const { values } = parseArgs({
	options: {
		worlds: text,
		seed: text,
		minutes: text,
		/** A seed whose world is played and told before the others. */
		first: text,
		/** Another copy of the package. */
		package: text,
		/** Stops after so many broken worlds. */
		breaches: text,
		/** Tells also what happens in worlds that are not broken. */
		trace: { type: 'boolean', default: false },
	},
});

/** After so many worlds, whoever waits is told how far it has come. */
const SIGN_OF_LIFE = 1000;

const begin = Number(values.seed ?? Math.floor(Math.random() * 1e9));
const minutes = Number(values.minutes ?? Infinity);
const count = Number(
	values.worlds ?? (values.minutes !== undefined ? Infinity : values.seed === undefined ? 1000 : 1),
);
const most = Number(values.breaches ?? 5);

// tsx has each stack traced back to the sources, and n8n and axios read many a stack. One world alone,
// as `again` below, shows them as before.
if (count > 1) process.setSourceMapsEnabled(false);
const engine = await theEngine(values.package);

await warmUp(engine);

const before = bytesBefore(count);
const began = process.hrtime.bigint();
const elapsed = (): number => Number(process.hrtime.bigint() - began) / 1e9;
let played = 0;
let broken = 0;
async function playNext(seed: number, isTold: boolean): Promise<void> {
	const trace = isTold ? console.log : undefined;
	const finding = await playSeed(seed, engine, trace);
	played += 1;
	if (played % SIGN_OF_LIFE === 0) console.error(`${played} worlds, ${broken} broken`);
	if (finding === undefined) return;
	broken += 1;
	console.log(`\nWorld ${finding.seed} (number ${played}) is broken.`);
	console.log(finding.story);
	console.log(`  again: npm run world -- --seed ${finding.seed}`);
}
if (values.first !== undefined) await playNext(Number(values.first), true);
for (let seed = begin; seed < begin + count; seed += 1) {
	if (broken >= most || elapsed() >= minutes * 60) break;
	await playNext(seed, values.trace);
}
const leaked = leak(before, played);
if (leaked !== undefined) {
	broken += 1;
	console.log(leaked);
}
const perMinute = values.trace ? '' : `; ${Math.round((played / elapsed()) * 60)} worlds a minute`;
console.log(`\n${played} worlds from seed ${begin}, ${broken} broken${perMinute}.`);
process.exit(broken > 0 ? 1 : 0);
