/** What nearly all tests on real servers begin with: the package, a gateway, a server, a credential. */
import { startGateway, type Gateway, type GatewayOptions } from '../../simulator/gateway.mjs';
import type { ServerVersion } from '../../harness/install/install.mjs';
import type { Credentials } from '../../harness/server/example-workflows.mjs';
import { packPackage, type PackedPackage } from '../../harness/server/packed-package.mjs';
import { startServer, type N8nServer } from '../../harness/server/server.mjs';

export interface RealServer {
	packed: PackedPackage;
	gateway: Gateway;
	server: N8nServer;
	/** The gateway's first account, as nodes name it. */
	credentials: Credentials;
	close(): Promise<void>;
}

/** Packs the package, starts a gateway and a server that has the package and the credential. */
export async function openRealServer(
	version: ServerVersion,
	options: GatewayOptions = {},
	env: Record<string, string> = {},
): Promise<RealServer> {
	const packed = await packPackage();
	const gateway = await startGateway(options);
	let server: N8nServer | undefined;
	const close = async () => {
		await server?.dispose();
		await gateway.close();
	};
	try {
		server = await startServer({ version, package: packed.tarball, env });
		const credentials = await server.storeAccount(gateway.url, gateway.keys[0]);
		return { packed, gateway, server, credentials, close };
	} catch (error) {
		await close();
		throw error;
	}
}
