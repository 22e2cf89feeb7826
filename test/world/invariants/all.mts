/** Everything that has to hold of a world, by the gateway's own books. */
import type { Played } from '../execution/step.mjs';
import { accounting } from './accounting.mjs';
import { asAlone } from './items/as-alone.mjs';
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
import { words } from './items/words.mjs';

export type { Breach } from './evidence.mjs';

export function breachesOf(played: Played): Breach[] {
	return [
		// What runs beside another one behaves as if it were alone.
		...(played.beside === undefined ? [] : breachesOf(played.beside)),
		...asAlone(played),
		...money(played),
		...output(played),
		...status(played),
		...settings(played),
		...waiting(played),
		...manners(played),
		...repeats(played),
		...knownTasks(played),
		...statements(played),
		...words(played),
		...accounting(played),
		...budgets(played),
		...afterwards(played),
		...secrets(played),
	];
}
