// Builds the package if `dist` is missing or older than its sources; otherwise it is done at once.
// By command, and in jest's global set-up: whoever starts a single test tests what stands there.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuildFresh, root } from './build-stamp.mjs';
import { runAloud } from './run-aloud.mjs';

/** Throws if the build fails; what is wrong was printed by then. */
export default async function buildIfStale() {
	if (await isBuildFresh()) return;
	console.log('Build: compiling the package into dist/ …');
	const gulp = join(root, 'node_modules', 'gulp', 'bin', 'gulp.js');
	const args = [gulp, '--silent', 'build'];
	const { status } = await runAloud('Build: still compiling', process.execPath, args, {
		cwd: root,
	});
	if (status !== 0) throw new Error('Build: failed, see the messages above.');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	await buildIfStale().then(
		() => console.log('Build: up to date.'),
		(error) => {
			console.error(error.message);
			process.exitCode = 1;
		},
	);
}
