import { GatewayError } from '../protocol/gatewayError';
import { isJsonObject, nonEmptyString, withoutUndefined, type JsonObject } from '../../util/json';
import { quote } from '../../util/text';
import { objectSchema, plainSchema } from './toolSchema';
import { wireName, type WireNames } from './wireNames';

/**
 * The tools that the model may call, as the endpoint takes them; undefined if there are none.
 *
 * @param tools `inputSchema` is the JSON schema of a tool's input
 * @param names gets the names that are changed for the endpoint
 * @throws GatewayError if the input of a tool isn't an object
 */
export function toolFields(
	tools: Array<{ name: string; description?: string; inputSchema: unknown }>,
	names: WireNames = new Map(),
): JsonObject[] | undefined {
	// An agent may bind its tools twice, and the endpoint rejects two with the same name.
	const named = new Map(tools.map((tool) => [tool.name, tool]));
	const fields = [...named.values()].map(({ name: own, description, inputSchema }) => {
		const name = wireName(own, 'tool');
		if (name !== own) names.set(name, own);
		return withoutUndefined({
			name,
			description: nonEmptyString(description),
			input_schema: plainSchema(objectSchema(inputSchema) ?? refuseInput(own), names),
		});
	});
	return fields.length === 0 ? undefined : fields;
}

function refuseInput(tool: string): never {
	throw new GatewayError({
		message: `The input of the tool "${quote(tool)}" is not an object`,
		description:
			'A model can only fill in named fields. Give the input schema of the tool properties. Nothing was sent.',
	});
}

/** The ways to choose a tool, by the words of agents for them. */
const CHOICES = new Map<unknown, string>([
	['auto', 'auto'],
	['none', 'none'],
	['any', 'any'],
	['required', 'any'],
	[true, 'any'],
]);

/**
 * An agent's choice of a tool, as the endpoint takes it; undefined without one.
 *
 * @throws GatewayError for a choice that can't be sent
 */
export function toolChoiceField(choice: unknown): JsonObject | undefined {
	if (choice === undefined || choice === null) return undefined;
	const { type, name, function: called } = isJsonObject(choice) ? choice : {};
	const kind = CHOICES.get(choice) ?? CHOICES.get(type);
	if (kind !== undefined) return { ...(isJsonObject(choice) ? choice : {}), type: kind };
	// Other words are the name of the tool.
	const named = [choice, name, isJsonObject(called) ? called.name : undefined];
	const tool = named.map(nonEmptyString).find((one) => one !== undefined);
	if (tool !== undefined) return { type: 'tool', name: wireName(tool, 'tool') };
	throw new GatewayError({
		message: `The agent's choice of a tool can't be sent: ${quote(JSON.stringify(choice))}`,
		description: 'Let the model choose the tool. Nothing was sent.',
	});
}
