import { jsonInText } from '../../gateway/messages';
import { isJsonObject } from '../../util/json';
import { quote } from '../../util/text';

/** A response, as LangChain hands it on. */
export interface Answer {
	readonly text: string;
	tool_calls?: Array<{ name: string; args: unknown }>;
	response_metadata?: { finish_reason?: unknown };
}

/** A model that can be given tools. */
interface ToolModel {
	bindTools(tools: unknown[], options?: { tool_choice?: unknown }): ToolModel;
	pipe(step: (answer: Answer) => unknown): unknown;
}

/** LangChain's settings for structured output, of which only these are looked at. */
export interface OutputConfig {
	name?: string;
	includeRaw?: boolean;
}

/**
 * The model with a response in the fields of a schema, which it gives as the input of a tool.
 *
 * LangChain's own method accepts only what was streamed, and fails after a complete response is paid.
 *
 * @param schema of Zod or JSON
 * @param thinks whether the model may think, which rules out to force the tool
 */
export function structuredOutput(
	model: ToolModel,
	schema: { description?: string },
	{ name = 'extract', includeRaw = false }: OutputConfig = {},
	thinks: boolean,
): unknown {
	const { description = 'Takes the answer. Call it to answer.' } = schema;
	const forced = thinks ? undefined : { tool_choice: name };
	return model.bindTools([{ name, description, schema }], forced).pipe((answer) => {
		const call = answer.tool_calls?.find((one) => one.name === name);
		// A prompt may ask for JSON in the text.
		const inText = call === undefined ? jsonInText(answer.text) : undefined;
		const fields = call?.args ?? (isJsonObject(inText) ? inText : undefined);
		if (includeRaw) return { raw: answer, parsed: fields ?? null };
		if (fields === undefined) throw new Error(withoutFields(answer));
		return fields;
	});
}

/** Says what came in place of the fields. */
const withoutFields = ({ text, response_metadata: metadata }: Answer): string =>
	`The model didn't fill in the fields of the structured output (finish reason: ${String(metadata?.finish_reason)}). Its text: "${quote(text)}"`;
