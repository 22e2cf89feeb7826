import type { GatewayResponse } from './gateway-response.mjs';
import type { Faults } from './faults.mjs';
import type { RequestLog } from './request-log.mjs';
import type { MediaModel } from '../models/default-models.mjs';
import type { Call, GatewayOptions } from '../gateway-options.mjs';
import type { ImageStore } from '../images/image-store.mjs';
import type { TaskStore } from '../images/task-store.mjs';

/** What the handlers of one gateway share. */
export interface ServerContext {
	options: GatewayOptions;
	now: () => number;
	models: readonly MediaModel[];
	log: RequestLog;
	faults: Faults;
	tasks: TaskStore;
	images: ImageStore;
	/** Ends every wait when the gateway closes. */
	closing: AbortSignal;
}

/** A request as understood, with its response yet to be made: faults strike in between. */
export interface ParsedRequest {
	call: Call;
	prompt: string;
	/** Whether the response would carry images. */
	settled: boolean;
	respond: () => GatewayResponse | Promise<GatewayResponse>;
}
