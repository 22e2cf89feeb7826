/**
 * Runs examples/submit-and-collect.json on n8n's own engine and shows the images it made: against the
 * embedded gateway, or against the one that MEDIA_GATEWAY_URL and MEDIA_GATEWAY_KEY name.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Host, RunResult, WorkflowJson } from '../harness/engine/host.mjs';
import { renderPage, type DemoImage } from './page.mjs';
import { Progress } from './demo-progress.mjs';
import { openTarget } from './target.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const example = join(here, '..', 'examples', 'submit-and-collect.json');
const output = join(here, 'output');

const SUBMIT = 'Submit prompts';
const WAIT = 'Wait for the images';

async function loadWorkflow(model?: string): Promise<WorkflowJson> {
	const workflow = JSON.parse(await readFile(example, 'utf8')) as WorkflowJson;
	const submit = workflow.nodes.find(({ name }) => name === SUBMIT);
	if (model && submit) {
		submit.parameters = { ...submit.parameters, model: { __rl: true, mode: 'name', value: model } };
	}
	return workflow;
}

/** Runs the workflow, and says what its nodes have done. The demo itself saves the images. */
async function runWorkflow(
	host: Host,
	workflow: WorkflowJson,
	progress: Progress,
): Promise<RunResult> {
	const interrupted = new AbortController();
	process.once('SIGINT', () => interrupted.abort());
	try {
		return await host.run(workflow, {
			signal: interrupted.signal,
			onProgress: ({ type, node, items, output: firstOutput, error }) => {
				if (type === 'nodeStarted') {
					if (!node.startsWith('Save ')) progress.update(node);
				} else if (error) {
					progress.note(`${node}: failed`);
				} else if (node === SUBMIT) {
					const ids = firstOutput!.map(({ json }) => String(json.taskId));
					progress.note(`${ids.length} tasks submitted: ${ids.join(', ')}`);
				} else if (node === WAIT) {
					progress.note(`${WAIT}: ${items} images received`);
				}
			},
		});
	} finally {
		progress.end();
	}
}

function fileName(index: number, prompt: string, extension: string): string {
	const words = prompt.toLowerCase().match(/[a-z0-9]+/g) ?? ['image'];
	return `${index + 1}-${words.join('-').slice(0, 48)}.${extension}`;
}

async function saveImages(host: Host, result: RunResult): Promise<DemoImage[]> {
	await rm(output, { recursive: true, force: true });
	await mkdir(output, { recursive: true });
	const prompts = result.json('One item each').map(({ prompt }) => String(prompt));
	const models = result.json(SUBMIT).map(({ model }) => String(model));
	return await Promise.all(
		result.output(WAIT).map(async (item, index) => {
			// Submitting and waiting keep the order, so an item's pair has the number of its prompt.
			const pair = Object(item.pairedItem).item ?? index;
			const prompt = prompts[pair] ?? '';
			const file = fileName(index, prompt, item.binary?.data?.fileExtension ?? 'png');
			await writeFile(join(output, file), await host.binary(item));
			return { file, prompt, model: models[pair] ?? '' };
		}),
	);
}

async function main(): Promise<void> {
	const target = await openTarget();
	try {
		// n8n's engine takes a second to load: say first what is going on.
		console.log(
			`Running ${relative(process.cwd(), example)} on n8n's engine with ${target.label}.`,
		);
		const progress = new Progress();
		progress.update("Loading n8n's engine");
		const { createHost } = await import('../harness/engine/host.mjs');
		const host = await createHost({
			credentials: { mediaGatewayApi: { baseUrl: target.url, apiKey: target.key } },
		});
		const workflow = await loadWorkflow(target.model);
		const result = await runWorkflow(host, workflow, progress);
		if (result.status === 'canceled') throw new Error('It was stopped.');
		if (result.error) {
			const { message, description } = result.error;
			throw new Error([message, description].filter(Boolean).join('\n'));
		}

		const images = await saveImages(host, result);
		if (images.length === 0) throw new Error('The workflow ended without an image.');
		const page = join(output, 'index.html');
		await writeFile(page, renderPage(images));
		const drawn = process.env.MEDIA_GATEWAY_URL ? '' : ', drawn by a program and not by a model';
		console.log(`${images.length} images${drawn}:`);
		for (const { file, prompt } of images) {
			console.log(`  ${relative(process.cwd(), join(output, file))}  (${prompt})`);
		}
		console.log(`Open ${pathToFileURL(page).href} to see them side by side.`);
	} finally {
		await target.close();
	}
}

main().then(
	() => process.exit(0),
	(error: Error) => {
		console.error(`The demo failed: ${error.message}`);
		process.exit(1);
	},
);
