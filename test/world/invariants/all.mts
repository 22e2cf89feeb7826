/** Everything that has to hold of a world, by the gateway's own books. */
import type { Played } from '../execution/step.mjs';
import { accounting } from './accounting.mjs';
import { budgets } from './budgets.mjs';
import type { Breach } from './evidence.mjs';
import { knownTasks } from './items/known-tasks.mjs';
import { manners } from './manners.mjs';
import { money } from './money.mjs';
import { afterwards, secrets, status } from './order.mjs';
import { output } from './output.mjs';
import { repeats } from './repeats.mjs';
import { statements } from './items/statements.mjs';
import { settings } from './settings.mjs';
import { waiting } from './waiting.mjs';

export type { Breach } from './evidence.mjs';

export function breachesOf(played: Played): Breach[] {
	return [
		...money(played),
		...output(played),
		...status(played),
		...settings(played),
		...waiting(played),
		...manners(played),
		...repeats(played),
		...knownTasks(played),
		...statements(played),
		...accounting(played),
		...budgets(played),
		...afterwards(played),
		...secrets(played),
	];
}
