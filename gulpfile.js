const { spawn } = require('node:child_process');
const { rm } = require('node:fs/promises');
const { dest, parallel, series, src } = require('gulp');

const OUTPUT = 'dist';

let sources;

/** Empties the output, so that a renamed or deleted source leaves nothing behind. */
async function clean() {
	const { hashSources, removeBuildStamp } = await import('./scripts/build-stamp.mjs');
	// A build that fails leaves an empty output, which fits no sources.
	await removeBuildStamp();
	// Before compiling: a source that is edited meanwhile has to count as newer than the build.
	sources = await hashSources();
	await rm(OUTPUT, { recursive: true, force: true });
}

/** Compiles what is shipped. A type error ends the build: nothing is emitted then. */
function compile(done) {
	const tsc = require.resolve('typescript/bin/tsc');
	const child = spawn(process.execPath, [tsc, '--noEmitOnError', '--pretty'], { stdio: 'inherit' });
	child.once('error', done);
	child.once('close', (code) =>
		done(code === 0 ? undefined : new Error('The TypeScript compiler reported errors.')),
	);
}

/** Drawings are copied byte for byte: without `encoding: false` gulp 5 would decode them as text. */
function icons() {
	return src('icons/*.svg', { encoding: false }).pipe(dest(`${OUTPUT}/icons`));
}

/** What n8n reads beside a node: its entry in the nodes panel, and the shape of its output. */
function nodeFiles() {
	const files = ['nodes/**/*.node.json', 'nodes/**/__schema__/**/*.json'];
	return src(files, { encoding: false, base: '.', allowEmpty: true }).pipe(dest(OUTPUT));
}

/** Remembers which sources this build was made of; `scripts/build-if-stale.mjs` compares. */
async function stamp() {
	const { writeBuildStamp } = await import('./scripts/build-stamp.mjs');
	await writeBuildStamp(sources);
}

const build = series(clean, parallel(compile, icons, nodeFiles), stamp);

module.exports = { clean, build, default: build };
