/** Two executions at once in one process: for which of them a piece of code works. */
import { AsyncLocalStorage } from 'node:async_hooks';

export interface Side {
	/** The fields of its credential. */
	credential: Record<string, unknown>;
	/** Its own chance: what happens to it is the same as if it were alone. */
	random: () => number;
	/** Is told of each try of a node of the package. */
	onBegin?: (node: string, run: number) => void;
}

const storage = new AsyncLocalStorage<Side>();

/** For which execution the running code works; undefined where there is only one. */
export const currentSide = (): Side | undefined => storage.getStore();

/** Runs something, and everything that follows from it, for one of them. */
export const onSide = <T,>(side: Side, act: () => T): T => storage.run(side, act);

/** What runs later goes on working for the same one. */
export function bound<T extends () => void>(act: T): () => void {
	return currentSide() === undefined ? act : AsyncLocalStorage.bind(act);
}

/** Each promise is more work for Node.js as long as anybody asks. */
export const forgetSides = (): void => storage.disable();
