/**
 * `npm run pictures`: the pictures in README, taken in a real n8n: the first image, prices in the list of models, what
 * Dry Run tells, and an error that names a paid task. Writes docs/images/*.png.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Locator } from 'playwright-core';
import { startGateway } from '../simulator/gateway.mjs';
import { findChromium, openEditor, type Editor } from '../harness/server/browser.mjs';
import { ensureServer } from '../harness/install/install.mjs';
import { packPackage } from '../harness/server/packed-package.mjs';
import { startServer, type N8nServer } from '../harness/server/server.mjs';

const FOLDER = join(fileURLToPath(new URL('..', import.meta.url)), 'docs', 'images');
/** Wide enough for a table of four columns in the output. */
const VIEWPORT = { width: 1280, height: 680 };
/** The editor settles after what it shows has arrived. */
const SETTLE_MS = 1_500;
const NODE = 'Generate image';
const PROMPT = 'A lighthouse on a cliff at dawn';

type Credentials = Awaited<ReturnType<N8nServer['storeAccount']>>;

/** Opens the node in a workflow of its own. */
async function openNode(
	editor: Editor,
	server: N8nServer,
	credentials: Credentials,
	parameters: object,
	rows = 1,
): Promise<void> {
	const { id } = await server.createWorkflow({
		name: 'Images',
		nodes: [
			{
				id: 'trigger',
				name: 'Start',
				type: 'n8n-nodes-base.manualTrigger',
				typeVersion: 1,
				position: [0, 0],
				parameters: {},
			},
			{
				id: 'rows',
				name: 'Rows',
				type: 'n8n-nodes-base.code',
				typeVersion: 2,
				position: [220, 0],
				parameters: { jsCode: `return Array.from({ length: ${rows} }, () => ({ json: {} }));` },
			},
			{
				id: 'generate',
				name: NODE,
				type: 'n8n-nodes-media-gateway.imageGeneration',
				typeVersion: 1,
				position: [440, 0],
				parameters: {
					model: { __rl: true, mode: 'list', value: 'aurora-image-1' },
					prompt: PROMPT,
					...parameters,
				},
				credentials,
			},
		],
		connections: {
			Start: { main: [[{ node: 'Rows', type: 'main', index: 0 }]] },
			Rows: { main: [[{ node: NODE, type: 'main', index: 0 }]] },
		},
		settings: {},
	});
	await editor.openWorkflow(id);
	await editor.openNode(NODE);
	await editor.page.waitForTimeout(SETTLE_MS);
}

/** Executes the open node, and waits until its output is shown. */
async function execute({ page }: Editor, server: N8nServer): Promise<void> {
	const done = page.waitForResponse(/\/rest\/workflows\/[^/]+\/run/);
	await page.locator('[data-test-id="node-execute-button"]').first().click();
	const { data } = (await (await done).json()) as { data: { executionId: string } };
	await server.settled(String(data.executionId), 60_000);
	await page.waitForTimeout(SETTLE_MS);
	// What n8n announces lies over the output.
	for (const button of await page.locator('.el-notification__closeBtn').all()) await button.click();
	await page.waitForTimeout(SETTLE_MS);
}

/** Writes what is seen from the top of something in the window, with a margin. */
async function save(
	{ page }: Editor,
	name: string,
	shown: Locator,
	{ height, margin = { x: 0, y: 0 } }: { height: number; margin?: { x: number; y: number } },
): Promise<void> {
	const box = await shown.boundingBox();
	if (!box) throw new Error(`There is nothing to see for ${name}`);
	const { x, y } = margin;
	const clip = { x: box.x - x, y: box.y - y, width: box.width + 2 * x, height };
	const path = join(FOLDER, `${name}.png`);
	await page.screenshot({ path, clip, animations: 'disabled', caret: 'hide' });
	console.log(`Written: docs/images/${name}.png`);
}

async function take(editor: Editor, server: N8nServer, credentials: Credentials): Promise<void> {
	const { page } = editor;
	const output = editor.byTestId('output-panel').first();
	await openNode(editor, server, credentials, {});
	await execute(editor, server);
	await page.getByText('Binary', { exact: true }).last().click();
	await editor.byTestId('ndv-view-binary-data').first().click();
	await page.locator('img[src*="binary-data"]').first().waitFor();
	await page.waitForTimeout(SETTLE_MS);
	await save(editor, 'first-image', page.locator('body'), { height: VIEWPORT.height });

	await openNode(editor, server, credentials, {});
	await editor.byTestId('rlc-input').first().click();
	await page.waitForTimeout(SETTLE_MS);
	// Its label is above it, the list below.
	const model = editor.byTestId('resource-locator-model').first();
	await save(editor, 'prices', model, { height: 240, margin: { x: 15, y: 30 } });

	await openNode(editor, server, credentials, { options: { dryRun: true, budget: 5 } }, 200);
	await execute(editor, server);
	await save(editor, 'dry-run', output, { height: 340 });

	await openNode(editor, server, credentials, {
		prompt: `${PROMPT} [slow]`,
		mode: 'wait',
		options: { maxWait: 10 },
	});
	await execute(editor, server);
	await save(editor, 'paid-task', output, { height: 440 });
}

async function main(): Promise<void> {
	if (!findChromium()) throw new Error('There is no chromium: apt-get install -y chromium');
	await ensureServer('2', console.log);
	const packed = await packPackage();
	const gateway = await startGateway({ taskSeconds: 15 });
	const server = await startServer({ version: '2', package: packed.tarball });
	try {
		const credentials = await server.storeAccount(gateway.url, gateway.keys[0]);
		const editor = await openEditor(server, { viewport: VIEWPORT });
		try {
			await take(editor, server, credentials);
		} catch (error) {
			await editor.screenshot(join('.cache', 'pictures.png'));
			throw error;
		} finally {
			await editor.close();
		}
	} finally {
		await server.dispose();
		await gateway.close();
	}
}

main().then(
	() => process.exit(0),
	(error: Error) => {
		console.error(error.stack ?? error.message);
		process.exit(1);
	},
);
