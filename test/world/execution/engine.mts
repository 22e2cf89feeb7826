/** n8n's engine with the package under test: loaded once, for all worlds of this process. */
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { clock, takeOver } from '../time/take-over.mjs';
import type { Host, HostOptions } from '../../../harness/engine/host.mjs';

export interface Engine {
	host: Host;
	/** The fields of the credential; to be set before each world, where one execution runs at a time. */
	credential: Record<string, unknown>;
	/** What is told of sub-executions, and what becomes of them; to be set for each action. */
	subExecutions: Pick<HostOptions, 'onResume' | 'whileResumed' | 'onSubProgress'>;
	/** Another process begins: it knows nothing of the rates that the one before has found. */
	forgetRates: () => void;
}

let engine: Promise<Engine> | undefined;

/** @param packageFolder another copy of the package than this one */
export async function theEngine(packageFolder?: string): Promise<Engine> {
	return await (engine ??= load(packageFolder));
}

async function load(packageFolder?: string): Promise<Engine> {
	takeOver();
	// Not before: n8n has to find the time and the random numbers of the world.
	const { createHost } = await import('../../../harness/engine/host.mjs');
	const { worldNodes } = await import('./nodes.mjs');
	const credential: Record<string, unknown> = {};
	const subExecutions: Engine['subExecutions'] = {};
	const host = await createHost({
		packageFolder,
		credentials: { mediaGatewayApi: credential },
		binaryMode: 'memory',
		extraNodeTypes: worldNodes,
		onResume: (suspended) => subExecutions.onResume?.(suspended),
		whileResumed: async (suspended, running) =>
			await (subExecutions.whileResumed?.(suspended, running) ?? running),
		onSubProgress: (event) => subExecutions.onSubProgress?.(event),
		onWake: (until) => {
			// A parent waits for its child for ever; only the child has a time.
			if (until.getTime() < clock.now + 86_400_000) {
				clock.now = Math.max(clock.now, until.getTime());
			}
		},
	});
	return { host, credential, subExecutions, forgetRates: forgetRatesOf(packageFolder) };
}

/** More accounts than a process remembers. */
const OTHER_ACCOUNTS = 250;

type OpenLimiter = typeof import('../../../gateway/pace/sharedRates.js').openLimiter;

/** Opens so many other accounts that the package remembers none of those before. */
function forgetRatesOf(packageFolder = '.'): () => void {
	const load = createRequire(join(resolve(packageFolder), 'package.json'));
	return () => {
		const { openLimiter } = load('./dist/gateway/pace/sharedRates.js') as {
			openLimiter: OpenLimiter;
		};
		for (let number = 0; number < OTHER_ACCOUNTS; number += 1) {
			const account = { idWithKey: `other ${number}`, mediaUrl: '' } as Parameters<OpenLimiter>[0];
			openLimiter(account, {} as never, { now: () => clock.now } as never, true);
		}
	};
}
