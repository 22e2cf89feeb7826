import { sleep, type IExecuteFunctions } from 'n8n-workflow';
import { isStopped } from './runContext';

/** How often an action is tried again. */
const TRIES_AGAIN = 12;
/** The pause before, in milliseconds: a minute in all. */
const PAUSE_MS = 5000;

/**
 * Does what needs n8n's database, again for a minute where it fails: a stored run outlives a restart of
 * the database.
 *
 * @throws the error of the last try, which a Stop makes the last one
 */
export async function tryForAMinute<T>(
	context: IExecuteFunctions,
	action: () => Promise<T>,
): Promise<T> {
	for (let again = 0; ; again += 1) {
		try {
			return await action();
		} catch (error) {
			if (again === TRIES_AGAIN || isStopped(context)) throw error as Error;
			await sleep(PAUSE_MS, context.getExecutionCancelSignal()).catch(() => undefined);
		}
	}
}
