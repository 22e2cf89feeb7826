/** A field of the output items of the image nodes; its name is its key. */
interface OutputField {
	type: 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array';
	/** What it is about: an option or a failed item adds a field to others. */
	from: 'request' | 'task' | 'image' | 'option' | 'error' | 'n8n';
	/** The nodes whose schema offers it, before their first run. */
	nodes?: readonly string[];
	/** Whether 'Include Input Fields' copies one of the input: a column of a person may have its name. */
	isCopied?: true;
}

const CREATE = ['ImageGeneration', 'ImageEdit'];
const TASK = ['ImageTask'];
const IMAGES = [...CREATE, 'ImageWait'];
const ALL = [...IMAGES, ...TASK];

/**
 * The output fields of the image nodes. `npm run docs` makes their schemas of it, and docs/names.json of
 * these; a test compares all.
 */
export const OUTPUT_FIELDS: Record<string, OutputField> = {
	prompt: { type: 'string', from: 'request', nodes: ALL },
	model: { type: 'string', from: 'request', nodes: ALL },
	parameters: { type: 'object', from: 'request', nodes: ALL },
	cost: { type: 'number', from: 'request', nodes: ALL },
	costCurrency: { type: 'string', from: 'request', nodes: ALL },
	estimatedCost: { type: 'number', from: 'request', nodes: ALL },
	usage: { type: 'object', from: 'request', nodes: ALL },
	pricePerImage: { type: 'number', from: 'request', nodes: [...CREATE, ...TASK] },
	requestId: { type: 'string', from: 'request' },
	status: { type: 'string', from: 'task', nodes: ALL },
	statusGroup: { type: 'string', from: 'task', nodes: [...CREATE, ...TASK] },
	taskId: { type: 'string', from: 'task', nodes: ALL },
	taskType: { type: 'string', from: 'task', nodes: ALL },
	statusUrl: { type: 'string', from: 'task', nodes: [...CREATE, ...TASK] },
	submittedAt: { type: 'string', from: 'task', nodes: CREATE },
	alsoNamed: { type: 'array', from: 'task', nodes: CREATE },
	finished: { type: 'boolean', from: 'task', nodes: TASK },
	succeeded: { type: 'boolean', from: 'task', nodes: TASK },
	urls: { type: 'array', from: 'task', nodes: TASK },
	images: { type: 'array', from: 'task', nodes: TASK },
	created: { type: 'integer', from: 'task', nodes: ALL },
	url: { type: 'string', from: 'image', nodes: IMAGES },
	revisedPrompt: { type: 'string', from: 'image', nodes: IMAGES },
	size: { type: 'string', from: 'image', nodes: IMAGES },
	quality: { type: 'string', from: 'image', nodes: IMAGES },
	outputFormat: { type: 'string', from: 'image', nodes: IMAGES },
	note: { type: 'string', from: 'image', isCopied: true },
	index: { type: 'integer', from: 'image', nodes: IMAGES },
	error: { type: 'string', from: 'error', nodes: TASK },
	details: { type: 'object', from: 'error' },
	charged: { type: 'string', from: 'error' },
	response: { type: 'object', from: 'task', nodes: TASK },
	// Only for an agent.
	charge: { type: 'string', from: 'option', isCopied: true },
	summary: { type: 'object', from: 'option' },
	dryRun: { type: 'boolean', from: 'option' },
	verdict: { type: 'string', from: 'option' },
	request: { type: 'object', from: 'option' },
	checks: { type: 'object', from: 'option' },
	// A place for files inside the JSON.
	_files: { type: 'array', from: 'n8n' },
};
