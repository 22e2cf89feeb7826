/** Worlds in which the error output of a node that pays leads back into it. */
import type { Action, World } from '../world.mjs';

/** The same world, wired back if it says so. */
export function wiredBack(one: World): World {
	const { back, flow, actions } = one;
	if (back === undefined) return one;
	const { make } = flow;
	const { onTimeout: _, ...options } = flow.options;
	return {
		...one,
		// A prompt that is edited in the node would be edited again in each round.
		actions: actions.map(
			(action): Action => (action.kind === 'retryEdited' ? { ...action, kind: 'retry' } : action),
		),
		flow: {
			...flow,
			...back,
			as: 'back',
			// A message is sent again whenever it comes back.
			make: make === 'edit' ? 'edit' : 'generation',
			onError: 'continueErrorOutput',
			// An open task goes to no output of its own, but the way of what has failed.
			options,
			isStored: false,
		},
	};
}
