// What happens once before all test files: `npx jest` alone must not test a stale `dist`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import buildIfStale from '../scripts/build-if-stale.mjs';

export default async function setUp() {
	await buildIfStale();
	// A worker keeps n8n for many files, so no file can clear away what n8n wrote (harness/engine/n8n.mts).
	const folder = mkdtempSync(join(tmpdir(), 'media-gateway-tests-'));
	process.env.MEDIA_GATEWAY_N8N_FOLDERS = folder;
	process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}
