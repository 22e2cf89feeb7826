import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/**
 * The root folder of this repository, found from the working folder upwards.
 * @returns absolute path
 */
export function repositoryRoot(): string {
	// Neither `import.meta` nor `__dirname` holds both under tsx and under jest.
	for (let folder = process.cwd(); ; folder = path.dirname(folder)) {
		if (fs.existsSync(path.join(folder, 'harness', 'install', 'locks'))) return folder;
		if (folder === path.dirname(folder)) {
			throw new Error('Start this from inside the repository: harness/install/locks was not found');
		}
	}
}

/**
 * Where the servers are installed.
 * @returns absolute path; `MEDIA_GATEWAY_TEST_CACHE` replaces the default in the home folder
 */
export function cacheFolder(): string {
	return path.resolve(
		process.env.MEDIA_GATEWAY_TEST_CACHE ||
			path.join(os.homedir(), '.cache', 'n8n-nodes-media-gateway'),
	);
}
