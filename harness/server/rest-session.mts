/** One session of the owner with an n8n server. */
import { randomBytes } from 'node:crypto';

import { until } from '../wait-until.mjs';

/** Anything that JSON holds; callers narrow what they read. */
export type Json = any;

export interface RestOptions {
	/** Query parameters; objects are sent as JSON. */
	query?: Record<string, unknown>;
	/** Further headers, such as `push-ref`. */
	headers?: Record<string, string>;
}

const PASSWORD = 'Media-Gateway-1';
const OWNER = { email: 'owner@example.com', firstName: 'Test', lastName: 'Owner' };
/** Sends requests as the editor does. */
export class RestSession {
	/** The session's cookie, `n8n-auth=…`; the editor uses the same session. */
	cookie = '';
	/** n8n ties a session to this value. */
	readonly browserId = randomBytes(16).toString('hex');
	/** Credentials of the owner, for a sign-in by hand. */
	readonly owner = { email: OWNER.email, password: PASSWORD };

	constructor(
		/** Address of the server without a trailing slash. */
		readonly url: string,
	) {}

	/**
	 * One request to n8n's internal REST interface, as the editor sends it.
	 * @param method HTTP method
	 * @param restPath path below `/rest`, such as `/workflows`
	 * @param body sent as JSON if it is given
	 * @returns what stands under `data` of the response; throws with status and text if it is no 2xx
	 */
	async rest(
		method: string,
		restPath: string,
		body?: unknown,
		options: RestOptions = {},
	): Promise<Json> {
		const url = new URL(`${this.url}/rest${restPath}`);
		for (const [name, value] of Object.entries(options.query ?? {})) {
			url.searchParams.set(name, typeof value === 'string' ? value : JSON.stringify(value));
		}
		const send = async (): Promise<Response> =>
			await fetch(url, {
				method,
				headers: {
					'browser-id': this.browserId,
					cookie: this.cookie,
					...(body === undefined ? {} : { 'content-type': 'application/json' }),
					...options.headers,
				},
				body: body === undefined ? undefined : JSON.stringify(body),
				signal: AbortSignal.timeout(120_000),
			});
		// On a busy machine n8n takes its own database for gone for a moment.
		const isThere = ({ status }: Response) => status !== 503 || method !== 'GET';
		const sent = async () => {
			const answer = await send();
			return isThere(answer) && answer;
		};
		const response = await until(`n8n's database, for /rest${restPath}`, 60, sent, 1_000);
		const text = await response.text();
		if (!response.ok) {
			throw new Error(
				`${method} /rest${restPath} responded with ${response.status}: ${text.slice(0, 2_000)}`,
			);
		}
		const session = response.headers.getSetCookie().find((entry) => entry.startsWith('n8n-auth='));
		if (session) this.cookie = session.split(';')[0] ?? '';
		if (!text) return undefined;
		const parsed = parseJson(text);
		return parsed?.data ?? parsed;
	}

	/**
	 * The descriptions that the editor loads. n8n writes them into a file after each change, and
	 * responds before the file is whole: half a file, or one from before, is asked for again.
	 * @param kind which file
	 * @param are the test of what is waited for. Default: anything whole
	 * @returns the descriptions
	 */
	async types(
		kind: 'nodes' | 'credentials',
		are: (types: Json[]) => boolean = () => true,
	): Promise<Json[]> {
		const headers = { cookie: this.cookie, 'browser-id': this.browserId };
		return await until(`the ${kind} for which ${are.toString()}`, 30, async () => {
			const response = await fetch(`${this.url}/types/${kind}.json`, { headers });
			// A file that is emptied while it is served ends too early.
			const types: Json = await response.json().catch(() => undefined);
			return types !== undefined && are(types) && (types as Json[]);
		});
	}

	/** Sets the owner up on an empty database, and logs in unless the session still holds. */
	async login(): Promise<void> {
		const settings = await this.rest('GET', '/settings');
		if (settings.userManagement?.showSetupOnFirstLoad) {
			await this.rest('POST', '/owner/setup', { ...OWNER, password: PASSWORD });
		}
		if (this.cookie) {
			const session = await this.rest('GET', '/login').catch(() => undefined);
			if (session?.id) return;
		}
		await this.rest('POST', '/login', { emailOrLdapLoginId: OWNER.email, password: PASSWORD });
	}

	/** The JSON at an address; undefined if the status is no 2xx, or if it is no JSON. */
	async peek(address: string): Promise<Json> {
		const response = await fetch(this.url + address, { signal: AbortSignal.timeout(5_000) });
		return response.ok ? parseJson(await response.text()) : undefined;
	}
}

/** What a text holds as JSON; undefined if it is none. */
export function parseJson(text: string): Json {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
