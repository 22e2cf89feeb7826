/** The very copy of axios that n8n's HTTP helper uses. */
import { createRequire } from 'node:module';

export interface AxiosConfig {
	url?: string;
	baseURL?: string;
	method?: string;
	params?: Record<string, unknown>;
	headers: { toJSON(): Record<string, unknown> };
	data?: unknown;
	responseType?: string;
	signal?: AbortSignal;
	maxRedirects?: number;
	validateStatus?: (status: number) => boolean;
}

type ErrorClass = new (...args: unknown[]) => Error;

export interface Axios {
	defaults: { adapter: unknown };
	getAdapter(adapters: unknown): (config: AxiosConfig) => Promise<unknown>;
	AxiosError: ErrorClass & { from(...args: unknown[]): Error };
	CanceledError: ErrorClass;
	AxiosHeaders: new (headers: Record<string, string>) => object;
}

const require = createRequire(import.meta.url);
const network = createRequire(require.resolve('n8n-core')).resolve('@n8n/backend-network');
export const axiosOfN8n = createRequire(network)('axios') as Axios;
