/** The command by which somebody sees whether a gateway fits (README, docs/gateways.md). */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startGateway } from '../../../simulator/gateway.mjs';
import { opened } from '../opened.mjs';

const root = join(__dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const commandsIn = (file: string) => read(file).match(/^curl .+$/gm) ?? [];

/** Runs the command with this address and key. @returns the response with its headers */
async function run(command: string, gateway: string, key: string): Promise<string> {
	const own = command.replace('https://gateway.example.com', gateway).replace('YOUR_KEY', key);
	const words = [...own.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
	const [program, ...options] = words as [string, ...string[]];
	return (await promisify(execFile)(program, ['--silent', ...options])).stdout;
}

test.each(['README.md', 'docs/gateways.md'])('the command of %s costs nothing', async (file) => {
	const gateway = await opened(startGateway());
	const [command = '', ...others] = commandsIn(file);
	expect(others).toEqual([]);
	const [key] = gateway.keys;

	const fits = await run(command, gateway.url, key);
	expect(fits).toMatch(/^HTTP\/1\.1 400 /);
	expect(fits).toContain('model is required');
	expect(await run(command, gateway.url, 'sk-wrong')).toMatch(/^HTTP\/1\.1 401 /);
	expect(await run(command, `${gateway.url}/elsewhere`, key)).toMatch(/^HTTP\/1\.1 404 /);
	expect(gateway.requests.filter(({ method }) => method === 'POST').length).toBeGreaterThan(0);
	expect(gateway.paid).toBe(0);
});

test('README and the page of gateways have the same command', () => {
	expect(commandsIn('README.md')).toEqual(commandsIn('docs/gateways.md'));
});
