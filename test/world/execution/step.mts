/** What is known of a world that was played. */
import type { RunResult } from '../../../harness/engine/host.mjs';
import type { Action, Flow, World } from '../plan/world.mjs';
import type { Service } from '../service/service.mjs';
import type { Ended } from '../time/virtual-clock.mjs';
import type { Input } from './workflow.mjs';

/** One action, and everything that is known of it afterwards. */
export interface Step {
	number: number;
	action: Action;
	/** What the paid node adds to each prompt in this action. */
	edited: string;
	/** As it is in this action. */
	flow: Flow;
	/** What entered. */
	input: Input;
	/** Not there if the process was killed, or never came to an end. */
	result?: RunResult;
	ended: 'done' | 'stopped' | 'crashed' | 'suspended' | Exclude<Ended, 'done'> | 'tooManyRequests';
	startedAt: number;
	endedAt: number;
	/** When Stop was pressed, or the process killed for good. */
	stoppedAt?: number;
	crashedAt?: number;
	/** Afterwards: what still went on. */
	leftTimers: number;
	leftRequests: number;
	lateRequests: number;
	/** How often the execution was suspended. */
	suspensions: number;
	/** How often the process was killed and came back, and how many checks of tasks died in all. */
	restarts: number;
	/** What went wrong with the engine itself. */
	problem?: string;
	/** What n8n had stored of finished nodes, as text. */
	saved: string[];
}

export interface Played {
	world: World;
	service: Service;
	input: Input;
	steps: Step[];
	unhandled: string[];
}
