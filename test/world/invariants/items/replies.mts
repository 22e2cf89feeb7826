/** Of invariant 3: whether a reply is that of the prompt of its item. */
import type { Played } from '../../execution/step.mjs';
import { isSpoilt, type Item } from '../evidence.mjs';
import { keyOf } from '../wanted.mjs';

export function ofReply(
	{ service }: Played,
	{ text }: Item['json'],
	wanted: string,
): string | undefined {
	const charge = service.books.charges.find(({ reply }) => reply === text);
	if (charge === undefined) {
		return isSpoilt(service) ? undefined : 'its text is no reply of the gateway';
	}
	return keyOf(charge) === wanted
		? undefined
		: `it is the reply to ${keyOf(charge)}, and not ${wanted}`;
}
