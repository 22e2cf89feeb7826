import { readApiAddress } from '../gateway/protocol/url.js';
import { startGateway, type GatewayOptions } from '../simulator/gateway.mjs';

/** The gateway that the demo talks to. */
export interface Target {
	label: string;
	url: string;
	key: string;
	/** The model to use; undefined: the one that the example names. */
	model?: string;
	close(): Promise<void>;
}

interface ListedModel {
	model?: string;
	media_type?: string;
	modes?: string[];
	generation_modes?: string[];
}

/** What the public listing names first among the models that can do what the demo asks for. */
async function findModel(mediaUrl: string): Promise<string> {
	const address = `${readApiAddress(mediaUrl)?.url}/v1/media/models`;
	try {
		const response = await fetch(address, { signal: AbortSignal.timeout(20_000) });
		if (!response.ok) throw new Error(`it responded with status ${response.status}`);
		const listing = (await response.json()) as { data?: { items?: ListedModel[] } };
		const found = listing.data?.items?.find(
			({ model, media_type, modes, generation_modes }) =>
				model &&
				media_type === 'image' &&
				(modes ?? ['text_to_image']).includes('text_to_image') &&
				(generation_modes ?? ['async']).includes('async'),
		);
		if (found?.model) return found.model;
		throw new Error('it lists no asynchronous image model that generates images from text');
	} catch (error) {
		const { message, cause } = error as Error;
		const reason = cause instanceof Error && cause.message ? cause.message : message;
		throw new Error(
			`The model listing ${address} could not be used (${reason}). ` +
				'Name a model of your account in MEDIA_GATEWAY_MODEL.',
		);
	}
}

/** The gateway of the environment, if it names one; else the embedded gateway, with these options. */
export async function openTarget(
	options: GatewayOptions = {},
	environment = process.env,
): Promise<Target> {
	const url = environment.MEDIA_GATEWAY_URL?.trim();
	const key = environment.MEDIA_GATEWAY_KEY?.trim();
	const model = environment.MEDIA_GATEWAY_MODEL?.trim() || undefined;
	if (url && key) {
		if (!readApiAddress(url)?.url) throw new Error(`MEDIA_GATEWAY_URL is no web address: ${url}`);
		return {
			label: `the gateway at ${url}`,
			url,
			key,
			model: model ?? (await findModel(environment.MEDIA_GATEWAY_MEDIA_URL?.trim() || url)),
			close: async () => {},
		};
	}
	if (url || key) {
		throw new Error('Set both MEDIA_GATEWAY_URL and MEDIA_GATEWAY_KEY, or neither.');
	}
	const gateway = await startGateway({ taskSeconds: [3, 9], ...options });
	return {
		label: `the embedded gateway at ${gateway.url}`,
		url: gateway.url,
		key: gateway.keys[0],
		model,
		close: async () => await gateway.close(),
	};
}
