/** One candidate in a process of its own: does a piece of work and measures itself meanwhile. */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Candidate, Prepare, Sample, Work } from '../work.mjs';
import { watchLoopDelay } from './loop-delay.mjs';

const MEMORY_EVERY_MS = 50;

let candidate: Candidate;

async function open(prepare: Prepare): Promise<Candidate> {
	switch (prepare.candidate) {
		case 'axios':
			return (await import('../candidates/axios.mjs')).axiosByHand(prepare);
		case 'builtIn':
			return await (await import('../candidates/built-in.mjs')).builtIn(prepare);
		case 'helper':
		case 'helperWithDeadline':
			return await (await import('../candidates/http-helper.mjs')).httpHelper(prepare);
		case 'package':
		case 'singleNode':
			return await (await import('../candidates/package-nodes.mjs')).thePackage(prepare);
	}
}

/** What is alive, on the heap and beside it. */
function live(): number {
	globalThis.gc?.();
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}

async function settle(): Promise<void> {
	for (let times = 0; times < 3; times += 1) {
		globalThis.gc?.();
		await sleep(50);
	}
}

async function measure(work: Work): Promise<Sample> {
	const lookAfterMs = 'lookAfterMs' in work ? work.lookAfterMs : undefined;
	// Only where what is alive is looked at: in production nobody collects garbage by hand, and what
	// comes after it is not the same. V8 then expects little to be alive and collects all the time:
	// downloads took twice as long, the more so the more modules are loaded.
	if (lookAfterMs !== undefined) await settle();
	const idleLive = lookAfterMs === undefined ? undefined : live();
	const idleRss = process.memoryUsage.rss();
	let peakRss = idleRss;
	let midLive: number | undefined;
	let midRss: number | undefined;
	const memory = setInterval(() => {
		peakRss = Math.max(peakRss, process.memoryUsage.rss());
	}, MEMORY_EVERY_MS);
	// It wakes the process a thousand times a second, which costs more than many a candidate does.
	const watch = lookAfterMs === undefined ? undefined : watchLoopDelay();
	const lookInside = (): void => {
		midRss = process.memoryUsage.rss();
		midLive = live();
	};
	const look = watch && setTimeout(() => watch.without(lookInside), lookAfterMs);
	const cpuBefore = process.cpuUsage();
	const begun = performance.now();
	const outcome = await candidate.run(work);
	const wallMs = performance.now() - begun;
	const cpu = process.cpuUsage(cpuBefore);
	const loopDelayP99Ms = watch?.end();
	clearInterval(memory);
	clearTimeout(look);
	peakRss = Math.max(peakRss, process.memoryUsage.rss());
	return {
		...outcome,
		wallMs,
		cpuMs: (cpu.user + cpu.system) / 1000,
		loopDelayP99Ms,
		idleRss,
		peakRss,
		idleLive,
		midLive,
		midRss,
	};
}

type Command = { name: 'prepare'; prepare: Prepare } | { name: 'run'; work: Work };

async function obey(command: Command): Promise<unknown> {
	if (command.name === 'run') return await measure(command.work);
	candidate = await open(command.prepare);
	const { warmUp } = command.prepare;
	return warmUp && (await candidate.run(warmUp));
}

process.on('message', ({ id, command }: { id: number; command: Command }) => {
	obey(command).then(
		(value) => process.send?.({ id, value }),
		(error: Error) => process.send?.({ id, error: error.stack ?? error.message }),
	);
});
process.once('disconnect', () => process.exit(0));
