import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selfSigned } from '../../harness/certificate.mjs';
import { openProxy, openTarget, openWorker } from '../processes/children.mjs';
import { UNBOUND } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import type { Sample } from '../work.mjs';

type Way = 'http' | 'https' | 'proxy';

/** Milliseconds for each poll. */
interface Cost {
	/** Of the process that polls, many at a time. */
	cpu: number;
	/** From the request to the response, one at a time. */
	wall: number;
}

const WAYS: Way[] = ['http', 'https', 'proxy'];

async function tryOnce(way: Way, count: number, alone: number): Promise<Cost> {
	const target = await openTarget(way === 'http' ? {} : { tls: selfSigned });
	const proxy = way === 'proxy' ? await openProxy(target.url) : undefined;
	try {
		const url = proxy?.url ?? target.url;
		const warmUp = { kind: 'generate' as const, count: 300 };
		const worker = await openWorker({ candidate: 'package', url, key: target.key, warmUp });
		try {
			const wait = async (many: number, concurrency: number): Promise<Sample> => {
				const ids = await target.submit(Array.from({ length: many }, () => 0));
				const sample = await worker.run({ kind: 'wait', ids, pauseS: 3, ...UNBOUND, concurrency });
				if (sample.good !== many) throw new Error(`${sample.good} of ${many} over ${way}`);
				return sample;
			};
			const one = await wait(alone, 1);
			const many = await wait(count, UNBOUND.concurrency ?? 1);
			return { cpu: many.cpuMs / count, wall: one.wallMs / alone };
		} finally {
			await worker.close();
		}
	} finally {
		await proxy?.close();
		await target.close();
	}
}

const median = (values: number[]): number =>
	values.sort((one, other) => one - other)[values.length >> 1] as number;

/** What TLS adds to a poll: n8n's helper opens a connection for each. */
export const tls: Scenario = {
	name: 'tls',
	title: 'Polls over TLS, and through a proxy that keeps its connections',
	async run({ quick }) {
		const folder = mkdtempSync(join(tmpdir(), 'media-gateway-tls-'));
		const before = process.env.NODE_EXTRA_CA_CERTS;
		const costs: Record<Way, Cost[]> = { http: [], https: [], proxy: [] };
		try {
			// Trusted, so that the certificate is checked as in production.
			writeFileSync(join(folder, 'ca.pem'), selfSigned.cert);
			process.env.NODE_EXTRA_CA_CERTS = join(folder, 'ca.pem');
			for (let time = 0; time < (quick ? 1 : 5); time += 1) {
				for (const way of WAYS) costs[way].push(await tryOnce(way, quick ? 300 : 2000, 100));
			}
		} finally {
			if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS;
			else process.env.NODE_EXTRA_CA_CERTS = before;
			rmSync(folder, { recursive: true });
		}
		const of = (way: Way, what: keyof Cost) => median(costs[way].map((cost) => cost[what]));
		const line = (measure: string, what: keyof Cost): Line => {
			const [http, https, proxy] = WAYS.map((way) => of(way, what)) as [number, number, number];
			return {
				measure,
				goal: 'TLS through a proxy: at most half of what TLS adds',
				package:
					`HTTP ${http.toFixed(2)} ms, TLS ${https.toFixed(2)} ms, ` +
					`TLS through the proxy ${proxy.toFixed(2)} ms`,
				reached: proxy - http <= (https - http) / 2,
			};
		};
		return {
			lines: [
				line('Processor time of a poll, 100 at a time', 'cpu'),
				line('Time of a poll, one at a time, with no distance between n8n and the gateway', 'wall'),
			],
		};
	},
};
