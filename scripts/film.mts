/**
 * `npm run film`: the animation in README, from a prompt to its image, played in a real n8n. Writes
 * docs/images/first-image.png.
 */
import type { Locator } from 'playwright-core';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGateway } from '../simulator/gateway.mjs';
import { findChromium, openEditor, type Editor } from '../harness/server/browser.mjs';
import { ensureServer } from '../harness/install/install.mjs';
import { packPackage } from '../harness/server/packed-package.mjs';
import { startServer, type N8nServer } from '../harness/server/server.mjs';
import { animatedPng, type Frame } from './animated-png.mjs';

const FILE = 'docs/images/first-image.png';
const MOST_BYTES = 2_000_000;
const PROMPT = 'A lighthouse on a cliff at dawn';
const VIEWPORT = { width: 1080, height: 660 };
/** The editor settles after what it shows has arrived. */
const SETTLE_MS = 1_500;

/** Takes the frames: moves a drawn pointer, since a screenshot has none. */
class Camera {
	readonly frames: Frame[] = [];

	constructor(private readonly editor: Editor) {}

	/** A frame of what is seen now. */
	async shoot(ms: number): Promise<void> {
		const png = await this.editor.page.screenshot({ animations: 'disabled', caret: 'hide' });
		this.frames.push({ png, ms });
	}

	async settle(ms = SETTLE_MS): Promise<void> {
		await this.editor.page.waitForTimeout(ms);
	}

	/** Moves the pointer to something, clicks it, and waits for what comes of it. */
	async click(target: Locator, ms = 500): Promise<void> {
		await target.waitFor();
		await target.hover();
		await this.shoot(ms);
		await target.click();
		await this.settle();
	}

	/** Types in pieces, a frame for each. */
	async type(target: Locator, text: string): Promise<void> {
		await target.click();
		for (const piece of text.match(/.{1,3}/g) ?? []) {
			await target.pressSequentially(piece);
			await this.shoot(90);
		}
		await this.settle();
	}
}

/** A pointer that follows the mouse. */
const POINTER = `addEventListener('DOMContentLoaded', () => {
	const pointer = document.createElement('div');
	pointer.innerHTML = '<svg width="22" height="26" viewBox="0 0 22 26"><path d="M2 2v19l5-5 3 8 4-2-3-7h7z" fill="#000" stroke="#fff" stroke-width="1.5"/></svg>';
	pointer.style.cssText = 'position:fixed;z-index:2147483647;pointer-events:none;left:-50px;top:0';
	document.documentElement.append(pointer);
	addEventListener('mousemove', ({ clientX, clientY }) => {
		pointer.style.left = clientX - 2 + 'px';
		pointer.style.top = clientY - 2 + 'px';
	}, true);
});`;

/** What is seen: a node is found, a model chosen, a prompt written, the image looked at. */
async function play(editor: Editor, server: N8nServer): Promise<Frame[]> {
	const camera = new Camera(editor);
	const { page } = editor;
	const { id } = await server.createWorkflow({
		name: 'My workflow',
		nodes: [
			{
				id: 'trigger',
				name: 'When clicking ‘Execute workflow’',
				type: 'n8n-nodes-base.manualTrigger',
				typeVersion: 1,
				position: [0, 0],
				parameters: {},
			},
		],
		connections: {},
		settings: {},
	});
	await page.addInitScript(POINTER);
	await editor.openWorkflow(id);
	await camera.settle();
	await camera.shoot(700);
	await camera.click(editor.byTestId('canvas-handle-plus').first());
	const search = editor.byTestId('node-creator-search-bar');
	await camera.type(search, 'generate image');
	await camera.shoot(500);
	const found = editor.byTestId('node-creator-item-name');
	await camera.click(found.filter({ hasText: 'Media Gateway Image' }).first(), 900);
	if (!(await editor.panel.isVisible())) {
		await camera.click(page.getByText('Add to workflow', { exact: true }).first(), 900);
	}
	await editor.panel.waitFor();
	await camera.settle();
	await camera.shoot(800);
	await camera.click(editor.byTestId('rlc-input').first());
	await camera.shoot(400);
	await camera.click(editor.byTestId('rlc-item').first(), 1_000);
	await camera.type(
		page.locator('[data-test-id="parameter-input-prompt"] textarea').first(),
		PROMPT,
	);
	await camera.shoot(500);
	const done = page.waitForResponse(/\/rest\/workflows\/[^/]+\/run/);
	await camera.click(editor.byTestId('node-execute-button').first(), 700);
	const { data } = await (await done).json();
	await camera.shoot(900);
	await server.settled(String(data.executionId), 60_000);
	await camera.settle();
	await camera.shoot(700);
	await camera.click(page.getByText('Binary', { exact: true }).last());
	await camera.click(editor.byTestId('ndv-view-binary-data').first(), 600);
	await page.locator('img[src*="binary-data"], img[src^="data:image/png"]').first().waitFor();
	await camera.settle();
	await page.mouse.move(VIEWPORT.width - 40, VIEWPORT.height - 60);
	await camera.shoot(3_500);
	return camera.frames;
}

async function main(): Promise<void> {
	if (!findChromium()) throw new Error('There is no chromium: apt-get install -y chromium');
	await ensureServer('2', console.log);
	const packed = await packPackage();
	const gateway = await startGateway({ taskSeconds: 2.5 });
	const server = await startServer({ version: '2', package: packed.tarball });
	try {
		await server.storeAccount(gateway.url, gateway.keys[0]);
		const editor = await openEditor(server, { viewport: VIEWPORT });
		try {
			const frames = await play(editor, server);
			const file = await animatedPng(frames, frames.at(-1)!.png);
			if (file.length > MOST_BYTES) throw new Error(`${file.length} bytes are too many`);
			writeFileSync(join(fileURLToPath(new URL('..', import.meta.url)), FILE), file);
			console.log(`Written: ${FILE}, ${(file.length / 1000).toFixed(0)} kB`);
		} catch (error) {
			await editor.screenshot(join('.cache', 'film.png'));
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
