import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtNodes, type BuiltNode } from './built-nodes.mjs';

const root = join(__dirname, '..', '..', '..');
const folder = join(root, 'examples');
const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
const STICKY = 'n8n-nodes-base.stickyNote';
const SAVE = 'Save the images here';

interface Node {
	id: string;
	name: string;
	type: string;
	position: [number, number];
	onError?: string;
	disabled?: boolean;
	parameters: Record<string, unknown>;
	credentials?: Record<string, { id: string | null; name: string }>;
}

interface Workflow {
	name: string;
	active: boolean;
	nodes: Node[];
	connections: Record<string, Record<string, Array<Array<{ node: string }> | null>>>;
	settings: { saveExecutionProgress?: boolean };
}

/** By type; with each node also the tool that n8n makes of it. */
const own = new Map<string, Pick<BuiltNode, 'parameters' | 'options'>>();
for (const { type, parameters, options } of builtNodes()) {
	own.set(type, { parameters, options });
	const more = ['descriptionType', 'toolDescription'];
	own.set(`${type}Tool`, { parameters: [...parameters, ...more], options });
}

describe.each(files)('the example %s', (file) => {
	const text = readFileSync(join(folder, file), 'utf8');
	const workflow = JSON.parse(text) as Workflow;
	const working = workflow.nodes.filter(({ type }) => type !== STICKY);
	const ours = working.filter(({ type }) => type.startsWith('n8n-nodes-media-gateway.'));

	test('gives its nodes the one credential, and the others none', () => {
		for (const { type, name, credentials } of working) {
			const wanted = own.has(type)
				? { mediaGatewayApi: { id: expect.any(String), name: 'Media Gateway account' } }
				: undefined;
			expect([name, credentials]).toEqual([name, wanted]);
		}
	});

	test('sets only parameters and options that exist', () => {
		const unknown = ours.flatMap(({ name, type, parameters }) => {
			const { parameters: known, options } = own.get(type) ?? { parameters: [], options: [] };
			const set = parameters.options as Record<string, unknown> | undefined;
			return [
				...Object.keys(parameters).filter((key) => !known.includes(key)),
				...Object.keys(set ?? {}).filter((key) => !options.includes(key)),
			].map((key) => `${name}: ${key}`);
		});
		expect(unknown).toEqual([]);
	});

	test('connects nodes that are there, each by a name and an id of its own', () => {
		const names = workflow.nodes.map(({ name }) => name);
		expect(new Set(names).size).toBe(names.length);
		expect(new Set(workflow.nodes.map(({ id }) => id)).size).toBe(names.length);
		const ends = Object.entries(workflow.connections).flatMap(([from, kinds]) => [
			from,
			...Object.values(kinds).flatMap((outputs) =>
				outputs.flatMap((targets) => (targets ?? []).map(({ node }) => node)),
			),
		]);
		expect(ends.filter((name) => !names.includes(name))).toEqual([]);
		const loose = working.filter(({ name }) => !ends.includes(name));
		expect(loose.map(({ name }) => name)).toEqual([]);
	});

	test('saves the images of every node that returns files', () => {
		const targetsOf = (name: string) =>
			(workflow.connections[name]?.main?.[0] ?? []).map(({ node }) => node);
		const reached = (name: string, seen = new Set<string>()): Set<string> => {
			for (const next of targetsOf(name)) if (!seen.has(next)) reached(next, seen.add(next));
			return seen;
		};
		const node = (name: string) => working.find((one) => one.name === name);
		const sources = ours.filter(({ type, parameters: { mode, download, options } }) => {
			const isDry = (options as { dryRun?: boolean } | undefined)?.dryRun === true;
			const returnsFiles = mode !== 'submit' && download !== false && !isDry;
			return /\.image(Generation|Edit|Task|Wait)$/.test(type) && returnsFiles;
		});
		for (const { name } of sources) expect([name, ...reached(name)]).toContain(SAVE);
		if (sources.length === 0) return;
		expect(node(SAVE)).toMatchObject({
			type: 'n8n-nodes-base.readWriteFile',
			parameters: { operation: 'write', fileName: '=.n8n-files/{{ $binary.data.fileName }}' },
		});
		expect(node(SAVE)!.disabled).toBeUndefined();
		expect(node('Save to Google Drive')).toMatchObject({ disabled: true });
		const notes = workflow.nodes.filter(({ type }) => type === STICKY);
		const texts = notes.map(({ parameters }) => String(parameters.content)).join();
		expect(texts).toContain(`**${SAVE}** writes`);
	});

	test('says where no image is saved', () => {
		const tools = ours.filter(({ type }) => /\.image(Generation|Edit)Tool$/.test(type));
		expect([tools.length > 0, text.includes('**No image is saved**')]).toEqual([
			tools.length > 0,
			tools.length > 0 || file === 'image-api.json',
		]);
	});

	test('holds no key and no address', () => {
		expect(text).not.toMatch(/sk-[\w-]{6,}|Bearer |https?:\/\//);
	});

	test('reads the details of failed items in n8n 1 as well', () => {
		// n8n 1 has them under "message" in an error output.
		const hasErrorOutput = working.some(({ onError }) => onError === 'continueErrorOutput');
		const texts = working.map(({ parameters }) => JSON.stringify(parameters));
		const reads = texts.join().match(/json\.details(?! \?\? \S*json\.message)/g);
		expect([hasErrorOutput, reads]).toEqual([hasErrorOutput, hasErrorOutput ? null : reads]);
	});

	test('is listed under its name in docs/guide.md', () => {
		const links = readFileSync(join(root, 'docs', 'guide.md'), 'utf8');
		const name = workflow.name.replace('Media Gateway: ', '');
		const title = name.charAt(0).toUpperCase() + name.slice(1);
		expect(links).toMatch(new RegExp(`\\[${title}\\]\\(\\.\\./examples/${file}\\)`));
	});
});

test('the report of the nightly batch finds its summary beside columns of its name', () => {
	const text = readFileSync(join(folder, 'nightly-batch.json'), 'utf8');
	const { nodes } = JSON.parse(text) as Workflow;
	const code = String(nodes.find(({ name }) => name === 'Report')?.parameters.jsCode);
	const summary = { cost: 0.5, costCurrency: 'EUR', failedItems: 2 };
	const rows = [
		{ summary: 'A lamp', error: 'refused', details: { charged: 'no', prompt: 'a lamp' } },
		{ summary: 'A pot', error: 'lost', details: { charged: 'maybe', prompt: '<pot>', summary } },
		{ url: 'https://…' },
	];
	const $input = { all: () => rows.map((json) => ({ json })) };
	const $now = { toFormat: () => '2027-01-31' };
	const [report] = new Function('$input', '$now', code)($input, $now) as [
		{ json: { html: string } },
	];
	expect(report.json).toMatchObject({ images: 1, failed: 2, cost: 0.5 });
	expect(report.json.html).toContain('1 image, 2 failed rows. Bill: 0.5 EUR');
	expect(report.json.html).toContain('<td>&#60;pot&#62;</td><td>lost</td><td>maybe</td>');
});
