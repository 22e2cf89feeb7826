import type { Client } from '../pace/client';
import type { Account } from '../protocol/account';
import type { Clock } from '../protocol/clock';
import type { RunLimits } from '../wire/runLimits';

/** What all status checks of a run share. */
export interface WaitContext {
	account: Pick<Account, 'baseUrl' | 'key'>;
	clock: Clock;
	client: Pick<Client, 'attempt' | 'pausesInARow'>;
	limits: Pick<RunLimits, 'timeoutMs'>;
	/** Shows a message to a person who watches the run. */
	tell: (message: string) => void;
	/** What a person should know once the run is over. */
	hints: Set<string>;
}
