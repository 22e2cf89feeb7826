/** Of invariant 1: after a crash, what a gateway knows by its key isn't charged again, wherever its row is. */
import type { Played, Step } from '../execution/step.mjs';
import type { Breach } from './evidence.mjs';
import { asks, counted, resendsUnknown } from './money.mjs';
import { keyOf } from './wanted.mjs';

export function shiftedRows(played: Played): Breach[] {
	if (played.world.service.keys !== 'honored') return [];
	return played.steps.flatMap((step, index) => {
		const crashed = played.steps[index - 1];
		const isAfter = step.action.kind === 'retryCrashed' && crashed !== undefined;
		// Retry On Fail asks for another message, where a whole response had none.
		if (!isAfter || resendsUnknown(step)) return [];
		return chargedAgain(played, crashed, step);
	});
}

/** The rows of before are still there: over both, each is paid for once. */
function chargedAgain(played: Played, crashed: Step, step: Step): Breach[] {
	const charges = played.service.books.charges.filter(({ step: of }) =>
		[crashed.number, step.number].includes(of),
	);
	const wanted = asks(played, step);
	return [...counted(charges.map(keyOf))].flatMap(([key, count]): Breach[] => {
		const most = wanted.get(key) ?? 0;
		if (count <= most) return [];
		const text = `${key} was charged ${count} times in a run that crashed and its retry, instead of ${most}`;
		return [{ invariant: 1, text }];
	});
}
