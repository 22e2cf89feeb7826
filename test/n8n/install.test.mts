import { startGateway, type Gateway } from '../../simulator/gateway.mjs';
import { selfSigned } from '../../harness/certificate.mjs';
import {
	packPackage,
	serverVersions,
	type PackedPackage,
} from '../../harness/server/packed-package.mjs';
import { startServer, type Json, type N8nServer } from '../../harness/server/server.mjs';

describe.each(serverVersions())('the package on n8n %s', (version) => {
	let packed: PackedPackage;
	let server: N8nServer;
	let gateway: Gateway;
	let types: Json[];

	beforeAll(async () => {
		packed = await packPackage();
		gateway = await startGateway();
		server = await startServer({ version, package: packed.tarball });
		types = await server.types('nodes');
	});

	afterAll(async () => {
		await server?.dispose();
		await gateway?.close();
	});

	it('is loaded without a complaint', () => {
		const complaints = server.logs
			.split('\n')
			.filter((line) => line.includes(packed.name) && /error|warn|fail|missing/i.test(line));
		expect(complaints).toEqual([]);
	});

	it('offers every node of package.json under its name', () => {
		const offered = types.filter(({ name }) => name.startsWith(`${packed.name}.`));
		expect(packed.nodes.length).toBeGreaterThanOrEqual(3);
		for (const node of packed.nodes) {
			const type = offered.find(({ name }) => name === node.type);
			expect(type).toMatchObject({ displayName: node.displayName });
			const tool = offered.find(({ name }) => name === `${node.type}Tool`);
			expect(tool !== undefined).toBe(node.usableAsTool);
		}
		const expected = packed.nodes.flatMap(({ type, usableAsTool }) =>
			usableAsTool ? [type, `${type}Tool`] : [type],
		);
		expect(offered.map(({ name }) => name).sort()).toEqual(expected.sort());
	});

	it('serves the drawings of every node and of the credential', async () => {
		const credentials = await server.types('credentials');
		const own = [
			...types.filter(({ name }) => name.startsWith(`${packed.name}.`)),
			...credentials.filter(({ name }) => name === 'mediaGatewayApi'),
		];
		const addresses = new Set(
			own.flatMap(({ iconUrl }) => [iconUrl?.light ?? iconUrl, iconUrl?.dark ?? iconUrl]),
		);
		expect(addresses.size).toBeGreaterThanOrEqual(2);
		for (const address of addresses) {
			const response = await fetch(`${server.url}/${address}`);
			expect([address, response.status]).toEqual([address, 200]);
			expect(response.headers.get('content-type')).toContain('image/svg');
		}
	});

	it('lists itself among the community packages', async () => {
		const [found] = (await server.rest('GET', '/community-packages')).filter(
			({ packageName }: Json) => packageName === packed.name,
		);
		// The list is of what was installed through n8n; a folder that is only there is not in it.
		if (found) expect(found).toMatchObject({ installedVersion: packed.version });
	});

	describe('its credential', () => {
		/** What the editor's button shows for these fields. */
		async function test(fields: Record<string, unknown>) {
			const data = { baseUrl: gateway.url, apiKey: gateway.keys[0], ...fields };
			const credential = await server.createCredential({ type: 'mediaGatewayApi', data });
			return await server.testCredential({ ...credential, data });
		}

		it('accepts a right key, however it was pasted, and costs nothing', async () => {
			gateway.reset();
			const ok = { status: 'OK', message: 'The gateway responds and lists its models' };
			expect(await test({})).toEqual(ok);
			expect(await test({ apiKey: ` Bearer ${gateway.keys[0]}\n` })).toEqual(ok);
			expect(await test({ baseUrl: `${gateway.url}/v1/` })).toEqual(ok);
			expect(gateway.paid).toBe(0);
		});

		it('is tested as it is stored, where the editor sends its key blanked', async () => {
			const data = { baseUrl: gateway.url, apiKey: gateway.keys[0] };
			const credential = await server.createCredential({ type: 'mediaGatewayApi', data });
			const stored = await server.rest('GET', `/credentials/${credential.id}?includeData=true`);
			expect(JSON.stringify(stored)).not.toContain(gateway.keys[0]);
			expect(await server.testCredential({ ...credential, data: stored.data })).toMatchObject({
				status: 'OK',
			});
		});

		it('says that a wrong or disabled key was refused', async () => {
			const refused = {
				status: 'Error',
				message: expect.stringMatching(
					/^The gateway (rejected the API key \(401\)|doesn't allow this request \(403\)): .*Check the/,
				),
			};
			expect(await test({ apiKey: 'sk-not-a-key-of-this-gateway' })).toEqual(refused);
			expect(await test({ apiKey: gateway.disabledKey })).toEqual(refused);
		});

		it('refuses a placeholder without asking the gateway', async () => {
			gateway.reset();
			for (const apiKey of ['<API_KEY>', 'YOUR_API_KEY', 'sk-...']) {
				expect(await test({ apiKey })).toEqual({
					status: 'Error',
					message: expect.stringContaining('still a placeholder'),
				});
			}
			expect(gateway.count('any')).toBe(0);
		});

		it('takes a self-signed certificate only where it is allowed to', async () => {
			const secure = await startGateway({ tls: selfSigned });
			try {
				const fields = { baseUrl: secure.url, apiKey: secure.keys[0] };
				expect(await test(fields)).toEqual({
					status: 'Error',
					message: expect.stringContaining('Allow Self-Signed Certificates'),
				});
				const lax = { ...fields, gatewaySettings: true, allowUnauthorizedCerts: true };
				expect(await test(lax)).toMatchObject({ status: 'OK' });
			} finally {
				await secure.close();
			}
		});
	});
});
