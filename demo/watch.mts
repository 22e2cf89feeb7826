import { setTimeout as sleep } from 'node:timers/promises';
import { readApiAddress } from '../gateway/protocol/url.js';
import { isFinished, statusGroup } from '../gateway/protocol/status.js';
import type { Target } from './target.mjs';

const PAUSE_MS = 2_000;

/**
 * Asks for the tasks beside the workflow, only to show how far they are: the node says nothing while
 * it works. What goes wrong here does not matter, the node is what counts.
 */
export async function watchTasks(
	{ url, key }: Pick<Target, 'url' | 'key'>,
	ids: string[],
	signal: AbortSignal,
	onChange: (finished: number) => void,
): Promise<void> {
	const open = new Set(ids);
	try {
		while (open.size > 0) {
			onChange(ids.length - open.size);
			await sleep(PAUSE_MS, undefined, { signal });
			for (const id of open) {
				const address = `${readApiAddress(url)?.url}/v1/images/generations/${encodeURIComponent(id)}`;
				const response = await fetch(address, {
					headers: { authorization: `Bearer ${key}` },
					redirect: 'error',
					signal,
				});
				const { status } = (await response.json()) as { status?: unknown };
				if (isFinished(statusGroup(status))) open.delete(id);
			}
		}
		onChange(ids.length);
	} catch {
		// Stopped, or the gateway did not respond as expected: then there is no number to show.
	}
}
