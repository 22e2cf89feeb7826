// Runs the check that n8n runs on published packages, here before publishing: on the sources, and on
// the package as npm would publish it. Also looks at what is in that package, and at its size.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createRequire, register } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const PLUGIN = '@n8n/eslint-plugin-community-nodes';

// The scanner pins an older version of the lint plugin; "overrides" in package.json are not allowed
// in a verified package. So it gets the linter's, which is the newest.
const newest = pathToFileURL(createRequire(join(root, 'package.json')).resolve(PLUGIN)).href;
register(
	`data:text/javascript,${encodeURIComponent(
		`export const resolve = async (name, context, next) =>
			await (name === '${PLUGIN}' ? next('${newest}', context) : next(name, context));`,
	)}`,
);
const { analyzePackage } = await import('@n8n/scan-community-package/scanner/scanner.mjs');
// Room for features: it only notices a file that doesn't belong into the package.
const SIZE_LIMIT_KB = 200;

/** What may be in the package, and nothing else: compiled code, drawings, codex files, papers. */
const ALLOWED = [
	/^package\.json$/,
	/^README\.md$/,
	/^LICENSE\.md$/,
	/^dist\/(credentials|gateway|nodes|util)\/.+\.js$/,
	/^dist\/nodes\/.+\.node\.json$/,
	/^dist\/nodes\/.+\/__schema__\/.+\.json$/,
	/^dist\/icons\/[^/]+\.svg$/,
];
const problems = [];

function run(command, args, options = {}) {
	const { status, stdout, stderr, error } = spawnSync(command, args, {
		encoding: 'utf8',
		shell: process.platform === 'win32',
		...options,
	});
	if (error || status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
	return stdout;
}

async function scan(label, folder, patterns) {
	const { passed, message, details } = await analyzePackage(folder, patterns);
	// The scanner calls an empty selection a success.
	const ok = passed && message === undefined;
	console.log(`Scan of ${label} (${patterns.join(', ')}): ${ok ? 'no error' : 'FAILED'}`);
	if (!ok) problems.push(`${label}: ${message}\n${details ?? ''}`);
}

function listFiles(folder) {
	return readdirSync(folder, { withFileTypes: true, recursive: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath ?? entry.path, entry.name))
		.map((file) => file.slice(folder.length + 1).replaceAll('\\', '/'))
		.sort();
}

function checkContents(folder) {
	const files = listFiles(folder);
	const { n8n, name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
	for (const file of files) {
		if (!ALLOWED.some((pattern) => pattern.test(file))) problems.push(`not to be shipped: ${file}`);
	}
	for (const file of ['README.md', 'LICENSE.md', ...n8n.credentials, ...n8n.nodes]) {
		if (!files.includes(file)) problems.push(`missing in the package: ${file}`);
	}
	console.log(`Contents of ${name}: ${files.length} files`);
	for (const file of files) console.log(`  ${file}`);
}

function versionOf(name) {
	const file = join(root, 'node_modules', name, 'package.json');
	return JSON.parse(readFileSync(file, 'utf8')).version;
}

function checkLockFile() {
	const lines = readFileSync(join(root, 'package-lock.json'), 'utf8').split('\n');
	const bound = lines.filter((line) => line.includes('"resolved"'));
	if (bound.length > 0) problems.push(`package-lock.json names a registry: ${bound[0].trim()}`);
}

if (!existsSync(join(root, 'dist'))) {
	console.error('There is no dist folder: run "npm run build" first.');
	process.exit(1);
}

const temporary = mkdtempSync(join(tmpdir(), 'media-gateway-scan-'));
try {
	console.log(`Scanner ${versionOf('@n8n/scan-community-package')}, plugin ${versionOf(PLUGIN)}`);
	checkLockFile();
	await scan('the sources', root, [
		'package.json',
		'{nodes,credentials,gateway,util}/**/*.{js,ts,json}',
	]);

	run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', temporary], {
		cwd: root,
	});
	const tarball = readdirSync(temporary).find((file) => file.endsWith('.tgz'));
	run('tar', ['-xzf', tarball], { cwd: temporary });
	const unpacked = join(temporary, 'package');
	await scan('the packed package', unpacked, ['**/*.js', 'package.json']);
	checkContents(unpacked);

	const kilobytes = statSync(join(temporary, tarball)).size / 1000;
	console.log(`Size of the package: ${kilobytes.toFixed(1)} kB (limit ${SIZE_LIMIT_KB} kB)`);
	if (kilobytes > SIZE_LIMIT_KB) problems.push('the package is too large');
} finally {
	rmSync(temporary, { recursive: true, force: true });
}

if (problems.length > 0) {
	console.error(`\n${problems.join('\n')}`);
	process.exit(1);
}
console.log('Scan: everything is in order.');
