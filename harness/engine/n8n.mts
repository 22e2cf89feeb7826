/** n8n's packages as the engine itself has them, loaded with settings that touch no home folder. */
import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Core from 'n8n-core' with { 'resolution-mode': 'require' };
import type * as N8n from 'n8n-workflow' with { 'resolution-mode': 'require' };

const require = createRequire(import.meta.url);

// n8n-core reads these while it is loaded, and would otherwise use a folder in the home folder. Among
// tests one process has n8n for many files: jest's global set-up removes its folder at the end.
const userFolder = mkdtempSync(
	join(process.env.MEDIA_GATEWAY_N8N_FOLDERS ?? tmpdir(), 'media-gateway-n8n-'),
);
process.env.N8N_USER_FOLDER = userFolder;
process.env.N8N_ENCRYPTION_KEY = 'for tests only';
process.env.N8N_ENFORCE_SETTINGS_FILE_PERMISSIONS = 'false';
process.env.N8N_LOG_LEVEL ??= 'silent';

// n8n's packages work by `require` only. The container has to be the very one the engine uses.
export const n8nWorkflow = require('n8n-workflow') as typeof N8n;
export const core = require('n8n-core') as typeof Core;
export const { Container } = createRequire(require.resolve('n8n-core'))('@n8n/di') as {
	Container: { get<T>(token: abstract new (...args: never[]) => T): T };
};

// n8n's logger looks for the caller of each line, even of those that nobody reads: 3% of the tests' time.
const { Logger } = createRequire(require.resolve('n8n-core'))('@n8n/backend-common') as {
	Logger: abstract new () => { debug(message: string): void };
};
if (process.env.N8N_LOG_LEVEL === 'silent') Container.get(Logger).debug = () => {};

// n8n counts the tokens of what an agent says by a table that takes a second to build. Nobody reads them here.
const tokenizer = createRequire(require.resolve('@n8n/ai-node-sdk'))(
	'@n8n/ai-utilities/tokenizer',
) as { encodingForModel(model: string): Promise<{ encode(text: string): ArrayLike<unknown> }> };
tokenizer.encodingForModel = async () => await Promise.resolve({ encode: (text) => text });

// Tests store thousands of images, which take seconds to remove: each file removes its own.
if (typeof afterAll === 'function') afterAll(removeBinaryData);
else process.once('exit', () => rmSync(userFolder, { recursive: true, force: true }));

async function removeBinaryData(): Promise<void> {
	const { localStoragePath } = Container.get(core.BinaryDataConfig);
	// What an execution that goes on still writes is removed at the end.
	await rm(localStoragePath, { recursive: true, force: true }).catch(() => undefined);
}
