/**
 * How much memory Image Edit takes to upload large images: 20 edits of 20 MB images, five at a time,
 * on n8n's engine with its binary data on the disk, against the same run with 1 kB images. Each run
 * has a process of its own, whose peak is what the operating system says; the gateway has another.
 *
 *   npx tsx bench/upload-memory.mts [runs]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ReceivedFile, ReceivedRequest } from '../simulator/gateway.mjs';
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };

const EDITS = 20;
const AT_ONCE = 5;
const LARGE = 20 * 1024 * 1024;
const SMALL = 1024;
const GOAL_MB = 100;
const MODEL = 'large-image';

interface Measured {
	peakMb: number;
	seconds: number;
}

const [role, ...args] = process.argv.slice(2);
if (role === 'gateway') await serveGateway();
else if (role === 'edit') await edit(args[0]!, Number(args[1]));
else await compare(Number(role ?? 3));

async function compare(runs: number): Promise<void> {
	const gateway = start('gateway');
	try {
		const url = await gateway.firstLine;
		const peaks: Record<number, number[]> = { [SMALL]: [], [LARGE]: [] };
		for (let run = 1; run <= runs; run += 1) {
			for (const bytes of [SMALL, LARGE]) {
				const child = start('edit', url, String(bytes));
				const { peakMb, seconds } = JSON.parse(await child.firstLine) as Measured;
				await checkUploads(url, bytes);
				peaks[bytes]!.push(peakMb);
				const size = bytes === SMALL ? ' 1 kB' : '20 MB';
				print(`run ${run}, ${size}: peak ${peakMb.toFixed(0)} MB, ${seconds.toFixed(1)} s`);
			}
		}
		const [small, large] = [median(peaks[SMALL]!), median(peaks[LARGE]!)];
		const difference = large - small;
		print(`\n${EDITS} edits, ${AT_ONCE} at a time; peak of the process (median of ${runs}):`);
		print(`   1 kB images  ${small.toFixed(0)} MB`);
		print(`  20 MB images  ${large.toFixed(0)} MB`);
		print(`    difference  ${difference.toFixed(0)} MB (goal: under ${GOAL_MB} MB)`);
		if (difference >= GOAL_MB) process.exitCode = 1;
	} finally {
		gateway.kill();
	}
}

/** The figures count only if the images have arrived whole. */
async function checkUploads(url: string, bytes: number): Promise<void> {
	const response = await fetch(`${url}/__admin/requests`);
	const requests = (await response.json()) as ReceivedRequest[];
	const sizes = requests
		.filter(({ path }) => path === '/v1/images/edits')
		.flatMap(({ body }) => (body as { files: ReceivedFile[] }).files.map(({ size }) => size));
	const whole = sizes.filter((size) => size === bytes);
	if (whole.length !== EDITS || sizes.length !== EDITS) {
		throw new Error(`Not every image of ${bytes} bytes has arrived: ${sizes.join(', ')}`);
	}
	await fetch(`${url}/__admin/reset`, { method: 'POST' });
}

/** This script in a process of its own. */
function start(...roleAndArgs: string[]) {
	const script = fileURLToPath(import.meta.url);
	const child = spawn(process.execPath, ['--import', 'tsx', script, ...roleAndArgs], {
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	const lines = createInterface(child.stdout);
	const line = once(lines, 'line').then(([text]) => String(text));
	const end = once(child, 'close').then(([code]) => {
		throw new Error(`The process "${roleAndArgs[0]}" ended early (${code}).`);
	});
	// Whatever comes first counts; when all is well the process ends after its line.
	end.catch(() => undefined);
	return { firstLine: Promise.race([line, end]), kill: () => child.kill() };
}

/** A gateway that takes images as large as these. */
async function serveGateway(): Promise<void> {
	const { startGateway } = await import('../simulator/gateway.mjs');
	const { url } = await startGateway({
		imageSize: 32,
		models: [{ model: MODEL, media_type: 'image', modes: ['text_to_image', 'image_edit'] }],
	});
	print(url);
}

async function edit(url: string, bytes: number): Promise<void> {
	const { createHost } = await import('../harness/engine/host.mjs');
	const host = await createHost({
		credentials: { mediaGatewayApi: { baseUrl: url, apiKey: 'sk-embedded-gateway-one' } },
		binaryMode: 'filesystem',
		extraNodeTypes: { 'bench.pictures': await picturesNode(bytes) },
	});
	const startedAt = performance.now();
	const result = await host.run({
		nodes: [
			{ name: 'Pictures', type: 'bench.pictures' },
			{
				name: 'Edit',
				type: 'n8n-nodes-media-gateway.imageEdit',
				parameters: {
					model: { __rl: true, mode: 'name', value: MODEL },
					prompt: '={{ "make it night " + $itemIndex }}',
					mode: 'sync',
					options: { concurrency: AT_ONCE },
				},
			},
		],
		connections: { Pictures: { main: [[{ node: 'Edit', type: 'main', index: 0 }]] } },
	});
	const seconds = (performance.now() - startedAt) / 1000;
	if (result.error) throw result.error;
	if (result.output('Edit').length !== EDITS) throw new Error('Not every image was edited.');
	// Kilobytes, on every platform.
	const peakMb = process.resourceUsage().maxRSS / 1024;
	print(JSON.stringify({ peakMb, seconds } satisfies Measured));
}

/** Gives out the pictures as files of n8n's binary store, which they enter as streams. */
async function picturesNode(bytes: number) {
	const { padded, paddingOf } = await import('../simulator/images/padding.mjs');
	const { TINY_PNG } = await import('../harness/tiny-png.mjs');
	const padding = paddingOf(TINY_PNG, bytes);
	return {
		description: {
			name: 'pictures',
			displayName: 'pictures',
			description: 'pictures',
			group: ['trigger'],
			version: [1],
			defaults: { name: 'pictures' },
			inputs: [],
			outputs: ['main'],
			properties: [],
		} as unknown as N8n.INodeTypeDescription,
		async execute(this: N8n.IExecuteFunctions) {
			const items: N8n.INodeExecutionData[] = [];
			for (let item = 0; item < EDITS; item += 1) {
				const stream = Readable.from(padded(TINY_PNG, padding));
				const data = await this.helpers.prepareBinaryData(stream, `${item}.png`, 'image/png');
				items.push({ json: {}, binary: { data }, pairedItem: { item: 0 } });
			}
			return [items];
		},
	};
}

function median(values: number[]): number {
	return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}

function print(line: string): void {
	process.stdout.write(`${line}\n`);
}
