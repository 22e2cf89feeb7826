/** Runs one cell of the fault matrix on n8n's engine. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Fault } from '../../../simulator/gateway.mjs';
import { selfSigned } from '../../../harness/certificate.mjs';
import {
	FAULTS,
	type Cell,
	type MatrixCall,
	type MatrixFault,
	type Struck,
} from './fault-matrix.mjs';
import {
	countRequests,
	deadAddress,
	MODEL,
	NODE,
	openBench,
	sendJson,
	serve,
	type Bench,
	type NodeName,
} from '../workbench.mjs';

export interface Seen extends Pick<Cell, 'sentAgain' | 'paid'> {
	/** What the user reads as an error; empty if there was none. */
	message: string;
	hints: string[];
	description: string;
	details: N8n.IDataObject;
	/** How many items came out that are no error. */
	items: number;
	/** The JSON of the items on the error output. */
	onErrorOutput: N8n.IDataObject[];
	taskId: string | undefined;
	/** The headers that another host was sent. */
	foreignHeaders: N8n.IDataObject[];
}

interface How {
	/** The fault strikes this often; default: always. */
	times?: number;
	/** Where the node goes on after an error. */
	onError?: 'continueRegularOutput' | 'continueErrorOutput';
}

const LISTING: MatrixCall[] = ['listing', 'model', 'check'];
/** As the embedded gateway calls it. */
const gatewayCall = (call: MatrixCall): Fault['call'] =>
	LISTING.includes(call) ? 'listing' : (call as Fault['call']);

export async function runCell(
	{ fault: faultName, call }: Struck,
	{ times, onError }: How = {},
): Promise<Seen> {
	const arranged: MatrixFault = FAULTS[faultName];
	const other = await serve((_, response) => sendJson(response, { stranger: true }));
	const dead = await deadAddress();
	const attempts = countRequests();
	// There the fault is not the gateway's: a redirect or the address of the listing leads to it.
	const elsewhere = call === 'download' || call === 'check';
	const tls = arranged.selfSigned === true && !elsewhere;
	const secure =
		arranged.selfSigned === true && elsewhere ? await openBench({ tls: selfSigned }) : undefined;
	const bench = await openBench({
		...(tls ? { tls: selfSigned } : {}),
		credential: addresses(arranged, call, dead, secure),
	});
	try {
		const taskId = call === 'poll' && !tls ? (await bench.submit('a cell'))[0] : undefined;
		const before = bench.gateway.paid;
		bench.gateway.setFaults(faultsOf(arranged, call, { times, other: other.url, dead, secure }));
		const result = await runCall(bench, call, taskId ?? 'task_x', arranged, onError);

		const items = [...result.output(NODE, 0), ...result.output(NODE, 1)];
		const failed = items.find(({ json }) => json.error !== undefined);
		const error = result.error as (N8n.ExecutionError & { context: N8n.IDataObject }) | undefined;
		const message = error?.message ?? String(failed?.json.error ?? '');
		const details = (error?.context?.details ?? failed?.json.details ?? {}) as N8n.IDataObject;
		const paths = bench.gateway.requests
			.filter((request) => request.call === gatewayCall(call))
			.map(({ method, path }) => `${method} ${path}`);
		const again = new Set(paths).size < paths.length;
		return {
			message,
			description: String(error?.description ?? details.description ?? ''),
			details,
			// Without what every run tells about itself.
			hints: result
				.hints(NODE)
				.filter(({ type }) => type !== 'info')
				.map(({ message: hint }) => hint),
			items: items.filter(({ json }) => json.error === undefined).length,
			onErrorOutput: result.json(NODE, 1),
			// At an address where nothing responds there is nobody but the client to count.
			sentAgain: arranged.dead === true && call !== 'download' ? attempts.to(dead) > 1 : again,
			paid: bench.gateway.paid - before,
			taskId,
			foreignHeaders: other.requests.map(({ headers }) => headers as N8n.IDataObject),
		};
	} finally {
		attempts.stop();
		await Promise.all([bench.close(), secure?.close(), other.close()]);
	}
}

/** Where the credential says that the gateway is, if not where it is. */
function addresses(
	{ dead: nobody, selfSigned: untrusted }: MatrixFault,
	call: MatrixCall,
	dead: string,
	secure: Bench | undefined,
): Record<string, unknown> {
	if (call === 'download') return {};
	if (call === 'check' && (nobody || untrusted)) {
		return { mediaUrl: nobody ? dead : secure?.gateway.url };
	}
	return nobody ? { baseUrl: dead } : {};
}

function faultsOf(
	{ fault, dead, selfSigned: untrusted, otherHost }: MatrixFault,
	call: Cell['call'],
	at: { times?: number; other: string; dead: string; secure?: Bench },
): Fault[] {
	if (call === 'download' && (dead || untrusted)) {
		const location = `${untrusted ? at.secure?.gateway.url : at.dead}/images/x.png`;
		return [{ call, kind: 'redirect', location, times: at.times }];
	}
	if (fault === undefined) return [];
	const location = otherHost ? `${at.other}/v1/images/generations` : fault.location;
	// Without a media list, the names of models would take its place.
	const noNames: Fault = { call: 'names', kind: 'status', status: 404 };
	const strikes = { ...fault, call: gatewayCall(call), location, times: at.times };
	return LISTING.includes(call) ? [strikes, noNames] : [strikes];
}

async function runCall(
	bench: Bench,
	call: Cell['call'],
	taskId: string,
	{ timesOut, maxWait = 30 }: MatrixFault,
	onError: How['onError'],
) {
	const options = timesOut ? { timeout: 15 } : {};
	const settings = onError === undefined ? {} : { onError };
	const run = async (type: NodeName, parameters: Record<string, unknown>, more = {}) =>
		await bench.run(type, { ...parameters, options: { ...options, ...more } }, [{}], settings);
	const images = { checkLimits: call === 'check' };
	const generation = { prompt: 'a cell', download: call === 'download' };
	switch (call) {
		case 'poll': {
			const task = { taskId, taskType: 'generation', pollInterval: 2, maxWait };
			return await run('imageWait', { ...task, download: false });
		}
		case 'listing':
			return await run('mediaModels', { limit: 1 });
		case 'model':
			return await run('mediaModels', { operation: 'get', model: MODEL });
		case 'message':
			return await run('message', { model: 'reason-large', prompt: 'a cell' });
		case 'submit':
			return await run('imageGeneration', { ...generation, mode: 'submit' }, images);
		default:
			return await run('imageGeneration', generation, images);
	}
}
