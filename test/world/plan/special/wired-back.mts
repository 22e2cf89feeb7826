/** Worlds in which the error output of a node that pays leads back into it. */
import { STATUSES, type ServiceFault, type ServiceSetup } from '../../service/service-setup.mjs';
import type { Action, Back, Flow, World } from '../world.mjs';

/** The same world, wired back if it says so. */
export function wiredBack(one: World): World {
	const { back, actions } = one;
	if (back === undefined) return one;
	const { flow, service } = madeToFail(one, back);
	const { onTimeout: _, ...options } = flow.options;
	return {
		...one,
		// A prompt that is edited in the node would be edited again in each round.
		actions: actions.map(
			(action): Action => (action.kind === 'retryEdited' ? { ...action, kind: 'retry' } : action),
		),
		flow: {
			...flow,
			as: 'back',
			rounds: back.rounds,
			waitsOnWay: back.waitsOnWay,
			// A message is sent again whenever it comes back.
			make: flow.make === 'edit' ? 'edit' : 'generation',
			onError: 'continueErrorOutput',
			// An open task goes to no output of its own, but the way of what has failed.
			options,
			isStored: false,
		},
		service,
	};
}

/** Items fail for its cause, in about half of the rounds. */
function madeToFail(
	{ flow, service }: World,
	{ cause, rounds }: Back,
): Pick<World, 'flow' | 'service'> {
	const but = (own: Partial<Flow>, more: Partial<ServiceSetup>) => ({
		flow: { ...flow, ...own },
		service: { ...service, ...more },
	});
	const faults = (fault: Pick<ServiceFault, 'call' | 'kind' | 'variant'>) => ({
		faults: [{ ...fault, skip: 0, times: rounds }],
	});
	switch (cause) {
		case 'refused':
			return but({}, faults({ call: 'paid', kind: 'status', variant: STATUSES.indexOf(400) }));
		case 'lost':
			return but({}, faults({ call: 'paid', kind: 'reset', variant: 0 }));
		case 'taskFails':
			return but({ mode: 'wait' }, { failPercent: 60 });
		case 'tooSlow':
			return but({ mode: 'wait', maxWait: 5 }, { taskSeconds: [3, 30] });
		case 'noImage':
			return but({ download: true }, faults({ call: 'download', kind: 'cut', variant: 0 }));
		case 'none':
			return { flow, service };
	}
}
