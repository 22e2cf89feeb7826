import type { Answer } from './gateway-response.mjs';
import type { Faults } from './faults.mjs';
import type { Ledger } from './request-log.mjs';
import type { MediaModel } from '../models/model-listing.mjs';
import type { Call, GatewayOptions } from '../gateway-options.mjs';
import type { Pictures } from '../images/image-store.mjs';
import type { Tasks } from '../images/task-store.mjs';

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
