import {
	additionalHeaders,
	mayFollowRedirects,
	requestAddress,
	skipsCertificate,
} from '../../../gateway/protocol/auth.js';
import { readCredential } from '../../../gateway/protocol/credential.js';
import { absoluteAddress } from '../../../gateway/protocol/url.js';

const HOME = 'https://gateway.example';
const FULL = `${HOME}/v1/models`;

describe('the address of a request', () => {
	test.each<[Parameters<typeof requestAddress>[0], string]>([
		[{ url: FULL }, FULL],
		[{ uri: FULL }, FULL],
		[{ url: FULL, uri: null }, FULL],
		[{ url: FULL, uri: FULL }, FULL],
		[{ url: new URL(FULL) }, FULL],
		[{ url: '/v1/models', baseURL: HOME }, FULL],
		[{ url: 'v1/models', baseURL: `${HOME}/` }, FULL],
		[{ url: '/v1/models', baseURL: new URL(HOME) }, FULL],
		[{ url: '', baseURL: FULL }, FULL],
		[
			{ url: '/go?to=https://elsewhere.example', baseURL: HOME },
			`${HOME}/go?to=https://elsewhere.example`,
		],
		[{ url: '/v1/models', baseURL: `${HOME}/api/` }, `${HOME}/api/v1/models`],
		[{ url: '/', baseURL: `${HOME}/api` }, `${HOME}/api/`],
		[{ url: FULL, baseURL: 'https://elsewhere.example' }, FULL],
		[{ url: 'HTTPS://Gateway.Example/v1/models', baseURL: 'https://elsewhere.example' }, FULL],
		[{ url: 'h2+x-1.0://a/b', baseURL: HOME }, 'h2+x-1.0://a/b'],
	])('in %j is %j', (request, address) => {
		expect(requestAddress(request)).toBe(address);
	});

	test.each<Parameters<typeof requestAddress>[0]>([
		{},
		{ url: null },
		{ url: 7 },
		{ url: FULL, baseURL: 7 },
		{ url: FULL, uri: `${HOME}/v1/messages` },
		{ url: FULL, uri: 7 },
		{ url: '/v1/models' },
		{ url: '/v1/models', baseURL: 'gateway' },
		{ url: '//elsewhere.example/v1', baseURL: HOME },
		{ url: '//elsewhere.example/v1', baseURL: '' },
		{ url: '///v1/models', baseURL: HOME },
		{ url: '\\\\elsewhere.example\\v1', baseURL: HOME },
		{ url: 'mailto:someone', baseURL: HOME },
	])('is unknown in %j, which must not carry the key', (request) => {
		expect(requestAddress(request)).toBeUndefined();
	});
});

describe('the address of an image', () => {
	test.each([
		['1.png', `${HOME}/api/1.png`],
		['/files/1.png', `${HOME}/files/1.png`],
		['//images.example/1.png', 'https://images.example/1.png'],
		['http://images.example/1.png', 'http://images.example/1.png'],
		['xhttp://images.example/1.png', undefined],
		['https-x://images.example/1.png', undefined],
		['httpsx://images.example/1.png', undefined],
		['data:image/png;base64,AAAA', undefined],
		['http://', undefined],
	])('%j below a gateway with a path is %j', (address, full) => {
		expect(absoluteAddress(address, `${HOME}/api`)).toBe(full);
	});
});

test('an untrusted certificate is accepted at the gateway alone, where the user says so', () => {
	const credential = readCredential({ baseUrl: HOME, apiKey: 'k' });
	const lax = { ...credential, allowUnauthorizedCerts: true };
	expect(skipsCertificate(FULL, lax)).toBe(true);
	expect(skipsCertificate('https://elsewhere.example/1.png', lax)).toBe(false);
	expect(skipsCertificate(FULL, { ...lax, allowUnauthorizedCerts: false })).toBe(false);
});

test('without an address of the gateway, nothing is followed and no header is added', () => {
	const headers = [{ name: 'X-Team', value: 'blue' }];
	const nowhere = { ...readCredential({ apiKey: 'k' }), baseUrl: '' };
	expect(mayFollowRedirects({ Authorization: 'Bearer k' }, nowhere)).toBe(false);
	expect(additionalHeaders(FULL, { ...nowhere, headers })).toEqual({});
});
