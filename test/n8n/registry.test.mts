/** The package installed, loaded, listed and removed by n8n itself, out of a registry. */
import { startGateway, type Gateway } from '../../simulator/gateway.mjs';
import { itemsOf, readExample } from '../../harness/server/example-workflows.mjs';
import {
	packPackage,
	serverVersions,
	type PackedPackage,
} from '../../harness/server/packed-package.mjs';
import { startRegistry, type Registry } from '../../harness/server/registry.mjs';
import { startServer, type Json, type N8nServer } from '../../harness/server/server.mjs';

describe.each(serverVersions())('installed by n8n %s itself', (version) => {
	let packed: PackedPackage;
	let registry: Registry;
	let gateway: Gateway;
	let server: N8nServer;

	beforeAll(async () => {
		packed = await packPackage();
		registry = await startRegistry();
		await registry.publish(packed.tarball);
		gateway = await startGateway({ taskSeconds: 1, imageSize: 64 });
		server = await startServer({
			version,
			env: { N8N_COMMUNITY_PACKAGES_ENABLED: 'true' },
			pathFirst: registry.npmFolder(),
		});
	});

	afterAll(async () => {
		await server?.dispose();
		await gateway?.close();
		await registry?.dispose();
	});

	const ownNames = (types: Json[]): string[] =>
		types
			.map(({ name }) => String(name))
			.filter((name) => name.startsWith(`${packed.name}.`))
			.sort();

	async function expectTypes(expected: string[]): Promise<void> {
		const are = (types: Json[]) => ownNames(types).join() === expected.join();
		expect(ownNames(await server.types('nodes', are))).toEqual(expected);
	}

	/** Its nodes and, of those that an agent may call, the tools. */
	const expectedTypes = () =>
		packed.nodes
			.flatMap(({ type, usableAsTool }) => (usableAsTool ? [type, `${type}Tool`] : [type]))
			.sort();

	async function runExample() {
		const credentials = await server.storeAccount(gateway.url, gateway.keys[0]);
		const workflow = readExample('first-image', credentials);
		const stored = await server.createWorkflow(workflow);
		return await server.settled(await server.runManually(stored.id));
	}

	it('comes out of the registry into the running server', async () => {
		await expectTypes([]);
		const installed = await server.rest('POST', '/community-packages', {
			name: packed.name,
			version: packed.version,
		});
		expect(installed).toMatchObject({
			packageName: packed.name,
			installedVersion: packed.version,
		});
		expect(installed.installedNodes.map(({ type }: Json) => type).sort()).toEqual(
			packed.nodes.map(({ type }) => type).sort(),
		);
		// It was this registry that gave it.
		expect(registry.log).toContain(`${packed.name}-${packed.version}.tgz`);
		await expectTypes(expectedTypes());
	});

	it('runs at once', async () => {
		const execution = await runExample();
		expect(execution.status).toBe('success');
		expect(itemsOf(execution, 'Save the images here')).toHaveLength(1);
	});

	it('is listed, and is still there after a restart', async () => {
		await server.restart();
		expect(await server.rest('GET', '/community-packages')).toEqual([
			expect.objectContaining({ packageName: packed.name, installedVersion: packed.version }),
		]);
		await expectTypes(expectedTypes());
		expect((await runExample()).status).toBe('success');
	});

	it('goes without a trace', async () => {
		await server.rest('DELETE', '/community-packages', undefined, {
			query: { name: packed.name },
		});
		await expectTypes([]);
		expect(await server.rest('GET', '/community-packages')).toEqual([]);
	});
});
