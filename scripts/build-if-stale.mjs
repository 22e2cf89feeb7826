// Builds the package if `dist` is missing or older than its sources; otherwise it is done at once.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { isBuildFresh, root } from './build-stamp.mjs';

if (await isBuildFresh()) {
	console.log('Build: up to date.');
} else {
	console.log('Build: compiling the package into dist/ …');
	const gulp = join(root, 'node_modules', 'gulp', 'bin', 'gulp.js');
	const { status } = spawnSync(process.execPath, [gulp, '--silent', 'build'], {
		cwd: root,
		stdio: 'inherit',
	});
	if (status !== 0) {
		console.error('Build: failed, see the messages above.');
		process.exit(1);
	}
}
