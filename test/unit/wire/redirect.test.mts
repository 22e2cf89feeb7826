import { planDownload, planImages, planTaskQuery } from '../../../gateway/protocol/requestPlan.js';
import { redirectUrl } from '../../../gateway/wire/redirect.js';
import type { HttpResponse } from '../../../gateway/protocol/outcome.js';
import { response } from '../virtual-gateway.mjs';

const HOME = 'https://gateway.example/api';
const get = planTaskQuery('generation', 't1');
const post = planImages('generation', { model: 'm', prompt: 'p' });
const asked = `${HOME}/v1/images/generations/t1`;

const to = (location: string, httpCode = 307) =>
	response(httpCode, {}, { location }) as HttpResponse;

test.each([301, 302, 303, 307, 308])('a poll follows a %d within the gateway', (httpCode) => {
	expect(redirectUrl(get, to('/api/v1/other', httpCode), asked, HOME)).toBe(
		'https://gateway.example/api/v1/other',
	);
});

test.each([
	[301, false],
	[302, false],
	[303, false],
	[307, true],
	[308, true],
])('a paid request after a %d is followed: %s', (httpCode, followed) => {
	const target = redirectUrl(post, to('/api/v1/other', httpCode), asked, HOME);
	expect(target !== undefined).toBe(followed);
});

test.each([307, 308])('a paid request after a %d to a result is not sent there', (httpCode) => {
	for (const location of ['/images/generations/t1', '/tasks/t1', '/files/x.png?a=1']) {
		expect(redirectUrl(post, to(`/api/v1${location}`, httpCode), asked, HOME)).toBeUndefined();
	}
});

test.each([200, 300, 304, 305, 306, 400, 500])('%d is no redirect', (httpCode) => {
	expect(redirectUrl(get, to('/api/v1/other', httpCode), asked, HOME)).toBeUndefined();
});

test.each([
	'https://evil.example/api/v1/other',
	'http://gateway.example/api/v1/other',
	'https://gateway.example:8443/api/v1/other',
	'https://gateway.example@evil.example/api/',
	'/elsewhere',
	asked,
	't1',
])('nothing is followed to %j', (location) => {
	expect(redirectUrl(get, to(location), asked, HOME)).toBeUndefined();
});

test('nothing is followed without an address', () => {
	const image = 'https://cdn.example/1.png#fragment';
	const plan = planDownload(image);
	expect(redirectUrl(plan, response(302) as HttpResponse, image, HOME)).toBeUndefined();
	expect(redirectUrl(get, response(307) as HttpResponse, asked, HOME)).toBeUndefined();
});

test.each([
	['https://images.example/1.png', true],
	['http://images.example/1.png', true],
	['data:image/png;base64,AAAA', false],
	['xhttps://images.example/1.png', false],
])('a download, which carries no key, is followed to %j: %s', (location, followed) => {
	const target = redirectUrl(
		planDownload('https://a/1.png'),
		to(location),
		'https://a/1.png',
		HOME,
	);
	expect(target).toBe(followed ? location : undefined);
});
