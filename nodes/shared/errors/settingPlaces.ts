import type { Problem } from '../../../gateway';

type Setting = NonNullable<Problem['settings']>[number];

const CREDENTIAL = ' in the Media Gateway credential';
const MORE = ` under 'Gateway Settings'${CREDENTIAL}`;
const OPTIONS = ' in the options';

/** Where a person finds in n8n what the advice of an error is about. */
const PLACES: Record<Setting, [name: string, place: string]> = {
	baseUrl: ["'Base URL'", CREDENTIAL],
	apiKey: ["'API Key'", CREDENTIAL],
	mediaUrl: ["'Media URL'", MORE],
	headers: ["'Additional Headers'", MORE],
	version: ["'Version Header Name'", MORE],
	idempotencyHeader: ["'Idempotency Header'", MORE],
	messageAuth: ["'Message Authentication'", MORE],
	asyncFlag: ["'Asynchronous Flag'", MORE],
	imageApi: ["'Image API'", MORE],
	imageFieldName: ["'Image Field Name'", MORE],
	allowUnauthorizedCerts: ["'Allow Self-Signed Certificates'", MORE],
	allowedHosts: [
		"n8n's protection against server-side request forgery (SSRF), which your administrator sets, and the allowed domains",
		CREDENTIAL,
	],
	timeout: ["'Timeout'", OPTIONS],
	requestsPerSecond: ["'Requests per Second'", OPTIONS],
	concurrency: ["'Concurrency'", OPTIONS],
	extraFields: ["'Extra Fields'", OPTIONS],
	extraFiles: ["'Additional Files'", OPTIONS],
	// In Image Wait, it isn't among the options.
	maxWait: ["'Max Wait'", ' of the node'],
	mode: ["'Synchronous' under 'Mode'", ''],
	source: ["an HTTP Request node, whose binary field 'Images' takes", ''],
	task: ['Image Wait or Image Task', ''],
	thinking: ["'Thinking'", ''],
	max_tokens: ["'Max Tokens'", ''],
	budget_tokens: ["'Budget (Tokens)'", ''],
	effort: ["'Effort'", OPTIONS],
	temperature: ["'Temperature'", OPTIONS],
	top_p: ["'Top P'", OPTIONS],
	top_k: ["'Top K'", OPTIONS],
	json: ["'Output Content as JSON'", OPTIONS],
	history: ["'History'", ' in the options of a Message node'],
	toolChoice: ["'Force Tool Call on First Iteration'", ' in the agent'],
};

/** What to do about a problem, and where in n8n. */
export function withPlaces({
	description,
	settings = [],
}: Pick<Problem, 'description' | 'settings'>): string {
	const names = new Map<string, string[]>();
	for (const [name, place] of settings.map((setting) => PLACES[setting]))
		names.set(place, [...(names.get(place) ?? []), name]);
	if (names.size === 0) return description;
	const texts = [...names].map(([place, list]) => list.join(' and ') + place);
	return `${description} See ${texts.join(', or ')}.`.trim();
}

/** A problem as one text, where there is no description. */
export const textOf = (problem: Problem): string =>
	`${problem.message.replace(/\.$/, '')}. ${withPlaces(problem)}`;
