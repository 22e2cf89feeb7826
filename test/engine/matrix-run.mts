/** Runs one cell of the fault matrix on n8n's engine. */
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };
import type { Fault } from '../../simulator/gateway.mjs';
import { selfSigned } from './certificate.mjs';
import { FAULTS, type Cell, type MatrixFault } from './fault-matrix.mjs';
import {
	countRequests,
	deadAddress,
	NODE,
	openBench,
	sendJson,
	serve,
	type Bench,
} from './workbench.mjs';

export interface Seen extends Pick<Cell, 'sentAgain' | 'paid'> {
	/** What the user reads; empty if there was no error. */
	message: string;
	description: string;
	details: N8n.IDataObject;
	/** How many items came out that are no error. */
	images: number;
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

export async function runCell(
	{ fault: faultName, call }: Pick<Cell, 'fault' | 'call'>,
	{ times, onError }: How = {},
): Promise<Seen> {
	const arranged: MatrixFault = FAULTS[faultName];
	const other = await serve((_, response) => sendJson(response, { stranger: true }));
	const dead = await deadAddress();
	const attempts = countRequests();
	const onDownload = call === 'download';
	const tls = arranged.selfSigned === true && !onDownload;
	const bench = await openBench({
		...(tls ? { tls: selfSigned } : {}),
		...(arranged.dead === true && !onDownload ? { credential: { baseUrl: dead } } : {}),
	});
	const secure =
		arranged.selfSigned === true && onDownload ? await openBench({ tls: selfSigned }) : undefined;
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
			.filter((request) => request.call === call)
			.map(({ method, path }) => `${method} ${path}`);
		const again = new Set(paths).size < paths.length;
		return {
			message,
			description: String(error?.description ?? details.description ?? ''),
			details,
			images: items.filter(({ json }) => json.error === undefined).length,
			onErrorOutput: result.json(NODE, 1),
			// At an address where nothing answers there is nobody but the sender to count.
			sentAgain: arranged.dead === true && !onDownload ? attempts.to(dead) > 1 : again,
			paid: bench.gateway.paid - before,
			taskId,
			foreignHeaders: other.requests.map(({ headers }) => headers as N8n.IDataObject),
		};
	} finally {
		attempts.stop();
		await Promise.all([bench.close(), secure?.close(), other.close()]);
	}
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
	return [{ ...fault, call, location, times: at.times }];
}

async function runCall(
	bench: Bench,
	call: Cell['call'],
	taskId: string,
	{ timesOut, maxWait = 300 }: MatrixFault,
	onError: How['onError'],
) {
	const options = { ...(timesOut ? { timeout: 1 } : {}), maxDownloadMb: 1, checkLimits: false };
	const settings = onError === undefined ? {} : { onError };
	if (call === 'poll') {
		const parameters = { taskId, taskType: 'generation', pollInterval: 2, maxWait };
		return await bench.run(
			'imageWait',
			{ ...parameters, download: false, options },
			[{}],
			settings,
		);
	}
	const mode = call === 'submit' ? 'submit' : 'sync';
	const download = call === 'download';
	return await bench.run(
		'imageGeneration',
		{ prompt: 'a cell', mode, download, options },
		[{}],
		settings,
	);
}
