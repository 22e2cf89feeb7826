import type { Answer } from './answer.mjs';
import type { Faults } from './faults.mjs';
import type { Ledger } from './ledger.mjs';
import type { MediaModel } from './listing.mjs';
import type { Call, GatewayOptions } from './options.mjs';
import type { Pictures } from './pictures.mjs';
import type { Tasks } from './tasks.mjs';

/** What the handlers of one gateway share. */
export interface House {
	options: GatewayOptions;
	now: () => number;
	models: readonly MediaModel[];
	ledger: Ledger;
	faults: Faults;
	tasks: Tasks;
	pictures: Pictures;
	/** Ends every wait when the gateway closes. */
	closing: AbortSignal;
}

/** A request as understood, with its answer yet to be made: faults strike in between. */
export interface Exchange {
	call: Call;
	prompt: string;
	/** Whether the answer would carry images. */
	settled: boolean;
	answer: () => Answer | Promise<Answer>;
}
