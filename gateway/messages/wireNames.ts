import { digestOf } from '../../util/digest';
import { isJsonObject } from '../../util/json';

/** What the endpoint takes as the name of a tool, and as that of a property. */
const FORMS = { tool: /^[\w-]{1,64}$/, property: /^[\w.-]{1,64}$/ };

/**
 * A name in a form that the endpoint takes. Any other one gets a digest at its end, so that names stay
 * different, and the same in each message of a chat.
 */
export function wireName(name: string, kind: keyof typeof FORMS): string {
	if (FORMS[kind].test(name)) return name;
	const plain = name.slice(0, 50).replace(/[^\w-]+/g, '_');
	return `${plain}_${digestOf([name]).slice(0, 8)}`;
}

/** By the name on the wire, the agent's name of a tool or property, where it is another one. */
export type WireNames = Map<string, string>;

/** A value of the model with the agent's names of its properties. */
export function withOwnNames(value: unknown, names: WireNames): unknown {
	if (Array.isArray(value)) return value.map((entry) => withOwnNames(entry, names));
	if (!isJsonObject(value)) return value;
	const own = Object.entries(value).map(
		([name, entry]) => [names.get(name) ?? name, withOwnNames(entry, names)] as const,
	);
	return Object.fromEntries(own);
}
