/** n8n's editor in Debian's chromium, signed in to a server of `server.mts`. */
import * as fs from 'node:fs';
import * as path from 'node:path';

import {
	type Browser,
	type BrowserContext,
	chromium,
	type Locator,
	type Page,
	type Request,
} from 'playwright-core';

import { until } from '../wait-until.mjs';
import type { Execution, Json, N8nServer } from './server.mjs';

export interface EditorOptions {
	/** Theme of the editor. Default light. */
	colorScheme?: 'light' | 'dark';
	/** Size of the window in CSS pixels. Default 1440 by 900. */
	viewport?: { width: number; height: number };
	/** Path of a chromium. Default: `MEDIA_GATEWAY_TEST_CHROMIUM`, else the system's. */
	executablePath?: string;
	/** Milliseconds for which one step may take. Default 30 000. */
	stepMs?: number;
}

/** The first load on a busy machine takes more than any step. */
const LOAD_MS = 90_000;
/** Shortens what n8n 2's editor waits for after an input, and before it saves: 1.5 s at most. n8n 1 knows none. */
const PAUSES = 0.1;
/** Longer than the pauses of the editor. */
const SETTLE_MS = { '1': 1_500, '2': 300 };
const CHROMIUMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/**
 * Where chromium is.
 * @returns absolute path, or undefined where there is none (`apt-get install -y chromium`)
 */
export function findChromium(): string | undefined {
	const named = process.env.MEDIA_GATEWAY_TEST_CHROMIUM;
	return [...(named ? [named] : []), ...CHROMIUMS].find((file) => fs.existsSync(file));
}

/**
 * Opens a browser with the server's session; no page is loaded yet.
 * @param server a running server
 * @param options see EditorOptions
 * @returns the editor; close it before the server stops
 */
export async function openEditor(server: N8nServer, options: EditorOptions = {}): Promise<Editor> {
	const executablePath = options.executablePath ?? findChromium();
	if (!executablePath) {
		throw new Error(
			'No chromium here: apt-get install -y chromium, or set MEDIA_GATEWAY_TEST_CHROMIUM',
		);
	}
	const browser = await chromium.launch({
		executablePath,
		args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
	});
	const context = await browser.newContext({
		viewport: options.viewport ?? { width: 1440, height: 900 },
		colorScheme: options.colorScheme ?? 'light',
		locale: 'en-GB',
		timezoneId: 'UTC',
	});
	context.setDefaultTimeout(options.stepMs ?? 30_000);
	const [name, value] = server.cookie.split('=', 2) as [string, string];
	await context.addCookies([{ name, value, url: server.url, httpOnly: true, sameSite: 'Lax' }]);
	// The session is tied to this value, which the editor keeps in the browser's storage.
	await context.addInitScript(
		([browserId, theme, pauses]) => {
			localStorage.setItem('n8n-browserId', browserId as string);
			localStorage.setItem('N8N_THEME', theme as string);
			sessionStorage.setItem('N8N_DEBOUNCE_MULTIPLIER', pauses as string);
		},
		[server.browserId, options.colorScheme ?? 'light', String(PAUSES)],
	);
	return new Editor(server, browser, context, await context.newPage());
}

/** A signed-in editor. Made by `openEditor`. */
export class Editor {
	/** Errors that the page wrote to its console or threw, in order. */
	readonly errors: string[] = [];
	/** Requests of the page that have no response yet, and how many it has sent. */
	private readonly awaited = new Set<Request>();
	private sent = 0;

	constructor(
		private readonly server: N8nServer,
		readonly browser: Browser,
		readonly context: BrowserContext,
		readonly page: Page,
	) {
		page.on('pageerror', (error) => this.errors.push(String(error)));
		page.on('console', (message) => {
			if (message.type() === 'error') this.errors.push(message.text());
		});
		page.on('request', (request) => this.note(request));
		const ended = (request: Request) => void this.awaited.delete(request);
		page.on('requestfinished', ended).on('requestfailed', ended);
	}

	private note(request: Request): void {
		// Other hosts may never respond here, and what n8n 1 pushes has no end.
		if (!request.url().startsWith(this.server.url) || request.url().includes('/rest/push')) return;
		this.awaited.add(request);
		this.sent++;
	}

	/** Waits until the editor has followed what was done: it has all responses, and its pauses have passed. */
	async settle(): Promise<void> {
		const open = () => [...this.awaited].map((request) => request.url()).join(', ');
		for (let sent = -1; sent !== this.sent || this.awaited.size > 0; ) {
			sent = this.sent;
			await until(
				() => `no response: ${open()}`,
				60,
				() => this.awaited.size === 0,
				20,
			);
			// The page's own timer ends after all that began before it and are shorter, at any load.
			await this.page.evaluate(
				async (ms) => await new Promise((resolve) => setTimeout(resolve, ms)),
				SETTLE_MS[this.server.install.version],
			);
		}
	}

	/**
	 * Something by n8n's own test id.
	 * @param id value of `data-test-id`
	 */
	byTestId(id: string): Locator {
		return this.page.locator(`[data-test-id="${id}"]`);
	}

	/**
	 * Opens a workflow and waits until its nodes are drawn. Without loading the page again, which takes
	 * 10 s; but n8n 1 would ask what to do with changes.
	 * @param id the workflow's id
	 */
	async openWorkflow(id: string): Promise<void> {
		const nodes = this.byTestId('canvas-node');
		const address = `/workflow/${id}`;
		const isOpen = this.server.install.version === '2' && (await nodes.count()) > 0;
		if (isOpen && !this.page.url().endsWith(address)) {
			const drawn = await nodes.first().elementHandle();
			await this.page.evaluate(async (to) => {
				const { __vue_app__: app } = document.querySelector('#app') as Json;
				await app.config.globalProperties.$router.push(to);
			}, address);
			await drawn!.waitForElementState('hidden');
		} else await this.goto(address);
		await nodes.first().waitFor({ timeout: LOAD_MS });
	}

	/**
	 * Opens any page of the editor. Tried twice: the first load compiles much.
	 * @param address path such as `/home/credentials`
	 */
	async goto(address: string): Promise<void> {
		const url = this.server.url + address;
		this.awaited.clear();
		const load = () => this.page.goto(url, { waitUntil: 'load', timeout: LOAD_MS });
		await load().catch(load);
	}

	/**
	 * Opens the panel of a node on the canvas.
	 * @param name the node's name in the workflow
	 */
	async openNode(name: string): Promise<void> {
		// The first panel freezes the page of a busy machine for longer than a step.
		await this.node(name).dblclick({ timeout: LOAD_MS });
		await this.panel.waitFor();
	}

	/** The open panel of a node: input, parameters, output. */
	get panel(): Locator {
		return this.page.locator('[data-test-id="ndv"], [data-test-id="ndv-modal"]').first();
	}

	/** Closes the open panel. By its button: Escape would close an open drop-down only. */
	async closeNode(): Promise<void> {
		await this.page
			.locator('[data-test-id="ndv-close-button"], [data-test-id="back-to-canvas"]')
			.first()
			.click();
		await this.panel.waitFor({ state: 'hidden' });
	}

	/**
	 * Runs the open workflow by its button, and waits until the run is over.
	 * @param withinMs milliseconds; throws when they have passed. Default 120 000
	 * @returns the execution with its data
	 */
	async run(withinMs = 120_000): Promise<Execution> {
		const started = this.page.waitForResponse(/\/rest\/workflows\/[^/]+\/run/);
		await this.byTestId('execute-workflow-button').first().click();
		const { data } = await (await started).json();
		if (!data?.executionId) throw new Error('The trigger waits for an event of its own');
		const execution = await this.server.settled(String(data.executionId), withinMs);
		await this.byTestId('stop-execution-button').waitFor({ state: 'hidden' });
		return execution;
	}

	/**
	 * Opens the list of nodes and types into its search.
	 * @param text such as `media gateway`
	 * @returns names of the nodes that are found, in the order shown
	 */
	async searchNodes(text: string): Promise<string[]> {
		const search = this.byTestId('node-creator-search-bar');
		if (!(await search.isVisible())) await this.byTestId('node-creator-plus-button').click();
		await search.waitFor();
		await search.fill(text);
		await this.settle();
		const names = await this.byTestId('node-creator-item-name').allTextContents();
		return names.map((name) => name.trim());
	}

	/**
	 * A node on the canvas.
	 * @param name the node's name in the workflow
	 */
	node(name: string): Locator {
		return this.page.locator(`[data-test-id="canvas-node"][data-node-name="${name}"]`);
	}

	/**
	 * Writes what is seen to a file.
	 * @param file path of a .png; its folder is made
	 * @param target one part instead of the whole window
	 */
	async screenshot(file: string, target?: Locator): Promise<void> {
		fs.mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
		await (target ?? this.page).screenshot({ path: file, animations: 'disabled' });
	}

	/** Closes the browser. */
	async close(): Promise<void> {
		await this.browser.close();
	}
}
