import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../harness/install/folders.mjs';

/** The folder of n8n-nodes-base in the installed server of the tests; undefined if there is none. */
export function builtInFolder(): string | undefined {
	const folder = join(cacheFolder(), 'n8n-2.x-node24', 'node_modules', 'n8n-nodes-base');
	return existsSync(join(folder, 'dist')) ? folder : undefined;
}
