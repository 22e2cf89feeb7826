/** `npm run world -- --worlds N --seed S --minutes M` */
import { theEngine } from './execution/engine.mjs';
import { play } from './execution/play.mjs';
import fc from 'fast-check';
import { world } from './plan/arbitraries.mjs';
import { breachesOf } from './invariants/all.mjs';

const engine = await theEngine();
const t0 = process.hrtime.bigint();
let n = 0;
const stats: Record<string, number> = {};
const [, , from = '1', to = '300', verbose] = process.argv;
for (let seed = +from; seed <= +to; seed++) {
	const [w] = fc.sample(world, { seed, numRuns: 1 });
	const p = await play(w!, engine);
	n++;
	const b = breachesOf(p);
	for (const { invariant, text } of b.slice(0, 2)) console.log(seed, invariant, text.slice(0, 300));
	const k = p.steps.map((s) => `${s.ended}/${s.result?.status ?? ''}`).join(' ');
	stats[k] = (stats[k] ?? 0) + 1;
	if (verbose) console.log(JSON.stringify(w), p.service.books.requests.map((r) => `${r.at - 1798761600000} ${r.call} ${r.prompt ?? ''} ${r.taskId ?? ''} ${r.fate}`).join('\n'), JSON.stringify(p.steps.map((s) => [s.result?.error, s.result?.json('Make'),s.result?.json('Agent'), s.result?.json('Collect')]),null,1));
}
console.log(stats, n, Number(process.hrtime.bigint() - t0) / 1e6, 'ms');
