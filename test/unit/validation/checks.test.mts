import { TtlCache, ttlMsOf } from '../../../gateway/util/ttlCache.js';
import {
	checkRequest,
	withPublishedTypes,
	type CheckedRequest,
} from '../../../gateway/validation/modelLimits.js';
import { estimateCost } from '../../../gateway/validation/pricing.js';
import type { JsonObject } from '../../../gateway/util/json.js';
import { readModel } from '../../../gateway/protocol/models.js';
import { didYouMean } from '../../../gateway/util/closestMatch.js';

const MB = 1024 * 1024;

/** What is wrong with a request for a model of which the listing says this. */
function wrong(record: JsonObject, request: Partial<CheckedRequest> = {}): string[] {
	const model = readModel({ model: 'm', ...record })!;
	const all = { taskType: 'generation' as const, asynchronous: false, parameters: {}, ...request };
	return checkRequest(model, all);
}

describe('the task of a model', () => {
	const asked = { generation: 'text_to_image', edit: 'image_edit' };

	test.each([
		['generation', {}, undefined],
		['edit', { modes: ['text_to_image', 'image_edit'] }, undefined],
		['edit', { modes: ['text_to_image'] }, 'text_to_image'],
		['generation', { modes: ['image_edit', 'upscale'] }, 'image_edit, upscale'],
		['generation', { media_type: 'video' }, 'video'],
	] as const)('%s of %j', (taskType, record, allowed) => {
		const line = `The requested operation is ${asked[taskType]}; allowed: ${allowed}`;
		expect(wrong(record, { taskType })).toEqual(allowed === undefined ? [] : [line]);
	});
});

test.each([
	[undefined, false, true],
	[['sync'], true, false],
	[['async'], false, false],
	[['sync', 'async'], true, true],
])('of %j, asynchronous: %j may be asked for: %j', (modes, asynchronous, allowed) => {
	const [line, ...others] = wrong({ generation_modes: modes }, { asynchronous });
	expect(others).toEqual([]);
	if (allowed) expect(line).toBeUndefined();
	else expect(line).toMatch(asynchronous ? /allowed: 'Sync/ : /allowed: 'Submit and Wait'/);
});

describe('the value of a parameter', () => {
	test.each([
		[['a', 'b'], 'c', false],
		[[1, 2], 2, true],
		[[1, 2], '2', true],
		[[true, false], 'false', true],
		[['a'], { a: 1 }, false],
		[[], 'anything', true],
		// What is no value at all limits nothing.
		[[null, { b: 1 }], 'anything', true],
	])('of %j: %j may be sent: %j', (values, value, allowed) => {
		const lines = wrong({ parameters: { size: values } }, { parameters: { size: value } });
		expect(lines).toHaveLength(allowed ? 0 : 1);
		if (!allowed) {
			expect(lines[0]).toBe(
				`size is ${JSON.stringify(value)}; allowed: ${(values as unknown[]).join(', ')}`,
			);
		}
	});
});

describe('the images of an edit', () => {
	const image = (size: number, mimeType = 'image/png') => ({ size, mimeType, fileName: 'x' });
	const against = (limits: JsonObject, ...images: ReturnType<typeof image>[]) =>
		wrong({ inputs: { reference_images: limits } }, { taskType: 'edit', images });

	test.each([
		[{ max_count: 2 } as JsonObject, 2, true],
		[{ max_count: 2 }, 3, false],
		[{}, 100, true],
	])('of %j: %d may be sent: %j', (limits, count, allowed) => {
		const lines = against(limits, ...Array.from({ length: count }, () => image(1)));
		const most = String(limits.max_count);
		const line = `The number of images to edit is ${count}; allowed: at most ${most}`;
		expect(lines).toEqual(allowed ? [] : [line]);
	});

	test.each([
		[1, MB, true],
		[1, MB + 1, false],
		[undefined, 1e12, true],
	])('at most %j MB: %d bytes may be sent: %j', (limit, size, allowed) => {
		const lines = against({ max_size_mb: limit }, image(size), image(1));
		expect(lines).toHaveLength(allowed ? 0 : 1);
		if (!allowed) expect(lines[0]).toContain(`allowed: at most ${limit} MB`);
	});

	test.each([
		[['PNG'], 'image/png', true],
		[['png'], 'image/jpeg', false],
		[['jpg'], 'image/jpeg', true],
		[['webp', 'gif'], 'image/avif', false],
		[undefined, 'image/avif', true],
	])('formats %j: %s may be sent: %j', (formats, mimeType, allowed) => {
		expect(against({ formats }, image(1, mimeType))).toEqual(
			allowed ? [] : [`The format of x is ${mimeType}; allowed: ${formats?.join(', ')}`],
		);
	});

	test.each([
		[['URL'], false],
		[['url', 'base64'], true],
		[[], true],
	])('sources %j: a file may be sent: %j', (sources, allowed) => {
		const line = 'The source of the image is a file; allowed: url'.replace(
			'url',
			sources?.[0] ?? '',
		);
		expect(against({ source_types: sources }, image(1))).toEqual(allowed ? [] : [line]);
	});

	test('each one that is wrong is named, with all that is wrong', () => {
		const lines = against(
			{ max_count: 1, max_size_mb: 1, formats: ['png'] },
			{ ...image(2 * MB, 'image/gif'), fileName: 'a.gif' },
			{ ...image(3 * MB), fileName: 'b.png' },
		);
		expect(lines).toEqual([
			'The number of images to edit is 2; allowed: at most 1',
			'The size of a.gif is 2.00 MB; allowed: at most 1 MB',
			'The format of a.gif is image/gif; allowed: png',
			'The size of b.png is 3.00 MB; allowed: at most 1 MB',
		]);
	});
});

test.each([
	[[1, 2], '2', 2],
	[['1', '2'], 2, '2'],
	[[true, false], 'false', false],
	[[1, 2], '3', '3'],
])('of %j: %j is sent as %j', (values, value, sent) => {
	const record = readModel({ model: 'm', parameters: { size: values } })!;
	expect(withPublishedTypes(record, { size: value, other: '1' })).toEqual({
		size: sent,
		other: '1',
	});
});

test.each([
	[{ unit: 'image', mode: 'price', value: 0.1 }, 3, 0.3],
	[{ unit: 'request', mode: 'price', value: 0.1 }, 3, 0.1],
	[{ unit: 'image', mode: 'ratio', value: 2 }, 3, undefined],
	[{ mode: 'price', value: 2 }, 3, undefined],
	[undefined, 3, undefined],
])('%j, %d images: %j', (billing, images, cost) => {
	expect(estimateCost(billing, images)).toBe(cost);
});

describe('the nearest names', () => {
	const suggested = (wanted: string, among: string[]) =>
		[...didYouMean(wanted, among).matchAll(/'([^']*)'/g)].map(([, name]) => name);
	const names = ['aurora-image-1', 'aurora-edit-1', 'cinema-1', 'atelier/Schöne Farben 2'];

	test.each([
		['aurora-image-1', 'aurora-image-1'],
		['aurora_image', 'aurora-image-1'],
		['cinma-1', 'cinema-1'],
		['cinnema-1', 'cinema-1'],
		['aurora-image-1-hd', 'aurora-image-1'],
	])('%s: %s first', (wanted, first) => {
		expect(suggested(wanted, names)[0]).toBe(first);
	});

	test.each([
		['no name that differs in two letters', 'cinem-2', ['cinema-1'], []],
		['all that begin with it', 'aurora', names, ['aurora-image-1', 'aurora-edit-1']],
		['one slip before the same beginning', 'flux', ['flux-pro', 'flax'], ['flax', 'flux-pro']],
	])('%s', (_, wanted, among, expected) => {
		expect(suggested(wanted, among)).toEqual(expected);
	});
});

describe('the cache', () => {
	let now: number;
	let asked: string[];
	let cache: TtlCache<string>;
	const ask = async (key: string) =>
		await cache.get(key, async () => {
			asked.push(key);
			await Promise.resolve();
			return { value: `${key} ${asked.length}`, ttlMs: 1000 };
		});

	beforeEach(() => {
		now = 5;
		asked = [];
		cache = new TtlCache(() => now);
	});

	test('gives the same response until its time is over', async () => {
		expect(await ask('a')).toBe('a 1');
		now += 999;
		expect(await ask('a')).toBe('a 1');
		now += 1;
		expect(await ask('a')).toBe('a 2');
		expect(asked).toEqual(['a', 'a']);
	});

	test('a failure is shared, and not kept', async () => {
		const fail = async () =>
			await cache.get('a', async () => await Promise.reject(new Error('no')));
		const outcomes = await Promise.allSettled([fail(), fail(), ask('a')]);
		expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
		expect(asked).toEqual([]);
		expect(await ask('a')).toBe('a 1');
	});
});

test.each([
	[{}, 5000],
	[{ 'cache-control': 'Max-Age="20"' }, 20_000],
	[{ 'cache-control': 'public,max-age=60', age: '50' }, 10_000],
	[{ 'cache-control': 'max-age=3600' }, 60_000],
	[{ 'cache-control': 'max-age=soon' }, 5000],
	[{ 'cache-control': 'no-store' }, 0],
	[{ 'cache-control': 'no-cache, max-age=60' }, 0],
	[{ 'cache-control': `${','.repeat(100_000)}max-age=60` }, 5000],
])('a response with %j is kept for %d ms', (headers, ms) => {
	expect(ttlMsOf(headers as Record<string, string>)).toBe(ms);
});
