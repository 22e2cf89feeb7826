import { parseArgs } from 'node:util';
import { startGateway, type Fault, type GatewayOptions } from './gateway.mjs';

const help = `Starts the embedded gateway: the whole protocol on this computer, no account needed.

  npm run gateway -- [options]

  --port N                  port to listen on (default 8787; 0: any free one)
  --host ADDRESS            address to listen on (default 127.0.0.1)
  --root PATH               path of the API in place of /v1, such as /api/v3
  --image-api API           how images are requested: form (default), json, images,
                            generations, openRouter
  --task-seconds N or N,M   how long a task takes, or a range (default 3)
  --sync-ms N               how long a synchronous request takes (default 0)
  --requests-per-second N   rate limit: more get status 429
  --image-size N            width and height if the request has no size (default 512)
  --image-bytes N           pad every image to this many bytes
  --bill N                  what an image costs: responses have it as usage.cost
  --request-ids             give each response an x-request-id
  --no-idempotency          ignore Idempotency-Key
  --fault JSON              a fault; can be repeated, for example
                            '{"call":"poll","kind":"status","status":502,"share":0.2}'
  --help                    show these options
`;

const text = { type: 'string' } as const;
const optionNames = {
	port: text,
	host: text,
	root: text,
	'image-api': text,
	'task-seconds': text,
	'sync-ms': text,
	'requests-per-second': text,
	'image-size': text,
	'image-bytes': text,
	bill: text,
	'request-ids': { type: 'boolean' },
	'no-idempotency': { type: 'boolean' },
	fault: { type: 'string', multiple: true },
	help: { type: 'boolean' },
} as const;
type Values = ReturnType<typeof commandLine>;

const imageApis = ['form', 'json', 'images', 'generations', 'openRouter'] as const;

try {
	const values = commandLine();
	if (values.help) process.stdout.write(help);
	else await run(optionsFrom(values));
} catch (error) {
	process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
	process.exitCode = 1;
}

function commandLine() {
	return parseArgs({ options: optionNames }).values;
}

async function run(options: GatewayOptions): Promise<void> {
	const gateway = await startGateway(options);
	process.stdout.write(greeting(gateway.url, options, gateway.keys));
	for (const signal of ['SIGINT', 'SIGTERM'] as const) {
		process.once(signal, () => void gateway.close());
	}
}

function optionsFrom(values: Values): GatewayOptions {
	const number = (name: NumberOption) => numberOf(values, name);
	const options: GatewayOptions = { port: number('port') ?? 8787 };
	if (values.host !== undefined) options.host = values.host;
	if (values.root !== undefined) options.root = rootOf(values.root);
	if (values['image-api'] !== undefined) options.imageApi = imageApiOf(values['image-api']);
	const seconds = values['task-seconds']?.split(',').map(Number);
	if (seconds?.some(Number.isNaN)) throw new Error('--task-seconds takes N or N,M');
	if (seconds?.length === 1) options.taskSeconds = seconds[0]!;
	if (seconds?.length === 2) options.taskSeconds = [seconds[0]!, seconds[1]!];
	const syncMs = number('sync-ms');
	if (syncMs !== undefined) options.syncMs = syncMs;
	const requestsPerSecond = number('requests-per-second');
	if (requestsPerSecond !== undefined) options.requestsPerSecond = requestsPerSecond;
	const imageSize = number('image-size');
	if (imageSize !== undefined) options.imageSize = imageSize;
	const imageBytes = number('image-bytes');
	if (imageBytes !== undefined) options.imageBytes = imageBytes;
	const bill = number('bill');
	if (bill !== undefined) options.bill = bill;
	if (values['request-ids']) options.requestIds = true;
	if (values['no-idempotency']) options.idempotencySeconds = 0;
	if (values.fault) options.faults = values.fault.map((fault) => JSON.parse(fault) as Fault);
	return options;
}

function rootOf(path: string): string {
	if (!/^(\/[\w.-]+)+$/.test(path))
		throw new Error(`--root takes a path such as /api/v3, not ${path}`);
	return path;
}

function imageApiOf(api: string): GatewayOptions['imageApi'] {
	const known = imageApis.find((one) => one === api);
	if (known !== undefined) return known;
	throw new Error(`--image-api takes ${imageApis.join(', ')}, not ${api}`);
}

type NumberOption =
	| 'port'
	| 'sync-ms'
	| 'requests-per-second'
	| 'image-size'
	| 'image-bytes'
	| 'bill';

function numberOf(values: Values, name: NumberOption): number | undefined {
	const value = values[name];
	if (value === undefined) return undefined;
	if (!/^\d+(\.\d+)?$/.test(value)) throw new Error(`--${name} takes a number, not ${value}`);
	return Number(value);
}

function greeting(
	url: string,
	{ root = '/v1', imageApi }: GatewayOptions,
	[one, two]: [string, string],
): string {
	const isRouter = imageApi === 'openRouter';
	return `Embedded media gateway at ${url}${root === '/v1' ? '' : root}

  keys    ${one}   (first account)
          ${two}   (second account)
  models  ${url}${root}/${isRouter ? 'images' : 'media'}/models
  counts  ${url}/__admin/stats

Generate an image:

  curl ${url}${root}/images${isRouter ? '' : '/generations'} \\
    -H 'Authorization: Bearer ${one}' -H 'Content-Type: application/json' \\
    -d '{"model":"aurora-image-1","prompt":"a red fox in the snow"}'

Stop it with Ctrl+C.
`;
}
