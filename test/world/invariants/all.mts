/** Everything that has to hold of a world, by the gateway's own books. */
import type { Played } from '../execution/step.mjs';
import { budgets } from './budgets.mjs';
import type { Breach } from './evidence.mjs';
import { money } from './money.mjs';
import { afterwards, secrets } from './order.mjs';
import { toldCharges } from './told-charges.mjs';
import { broughtBack } from './brought-back.mjs';
import { shiftedRows } from './shifted-rows.mjs';
import { output } from './output.mjs';
import { waiting } from './waiting.mjs';

export type { Breach } from './evidence.mjs';

export function breachesOf(played: Played): Breach[] {
	return [
		...money(played),
		...shiftedRows(played),
		...broughtBack(played),
		...toldCharges(played),
		...output(played),
		...waiting(played),
		...budgets(played),
		...afterwards(played),
		...secrets(played),
	];
}
