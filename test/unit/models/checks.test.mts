import { ttlMsOf } from '../../../gateway/models/listTtl.js';
import { checkRequest, withPublishedTypes } from '../../../gateway/models/modelLimits.js';
import { estimateCost } from '../../../gateway/models/pricing.js';
import type { JsonObject } from '../../../util/json.js';
import { readModel } from '../../../gateway/models/models.js';
import { didYouMean } from '../../../util/closestMatch.js';

type CheckedRequest = Parameters<typeof checkRequest>[1];

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
		['generation', { media_type: 'video' }, 'videos'],
		['generation', { media_type: 'video', modes: ['text_to_image'] }, 'videos'],
		['edit', { modes: ['text_to_video'] }, 'videos'],
		['generation', { media_type: 'audio' }, 'audio'],
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
	else if (asynchronous) expect(line).toBe('The mode is asynchronous; allowed: synchronous');
	else expect(line).toBe('The mode is synchronous; allowed: asynchronous');
});

test.each<[unknown[], unknown, string[]]>([
	[['a', 'b'], 'c', ['size is "c"; allowed: a, b']],
	[['a'], { a: 1 }, ['size is {"a":1}; allowed: a']],
	[[1, 2], '2', []],
	[[true, false], 'false', []],
	[[], 'anything', []],
	// What is no value at all limits nothing.
	[[null, { b: 1 }], 'anything', []],
])('the value of a parameter, of %j: %j is refused with %j', (values, value, lines) => {
	const parameters = { size: value } as CheckedRequest['parameters'];
	expect(wrong({ parameters: { size: values } } as JsonObject, { parameters })).toEqual(lines);
});

describe('the images of an edit', () => {
	const image = (size: number, mimeType = 'image/png') => ({ size, mimeType, fileName: 'x' });
	const against = (limits: JsonObject, ...images: ReturnType<typeof image>[]) =>
		wrong({ inputs: { reference_images: limits } }, { taskType: 'edit', images });

	test.each<[JsonObject, ReturnType<typeof image>[], string[]]>([
		[{ max_count: 2 }, [image(1), image(1)], []],
		[{}, Array.from({ length: 100 }, () => image(1e12)), []],
		[{ max_size_mb: 1 }, [image(MB), image(1)], []],
		[{ max_size_mb: 1 }, [image(1.01 * MB)], ['The size of x is 1.01 MB; allowed: at most 1 MB']],
		[{ formats: ['PNG'] }, [image(1)], []],
		[{ formats: ['jpg'] }, [image(1, 'image/jpeg')], []],
		[
			{ formats: ['webp', 'gif'] },
			[image(1, 'image/avif')],
			['The format of x is image/avif; allowed: webp, gif'],
		],
		[{ source_types: ['URL'] }, [image(1)], ['The source of the image is a file; allowed: URL']],
		[{ source_types: ['url', 'base64'] }, [image(1)], []],
		[{ source_types: [] }, [image(1)], []],
	])('limited by %j', (limits, images, lines) => {
		expect(against(limits, ...images)).toEqual(lines);
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
	[{ unit: 'image', mode: 'price', value: -9 }, 3, undefined],
	[undefined, 3, undefined],
])('%j, %d images: %j', (billing, images, cost) => {
	expect(estimateCost(billing, images)).toBe(cost);
});

test('a record that is odd throughout limits nothing, and has no price', () => {
	const odd = {
		modes: 'text_to_image',
		generation_modes: [null, 4],
		parameters: { size: 'big', steps: { from: 1 }, n: [[1], null] },
		inputs: { reference_images: { max_count: 'two', formats: 'png' } },
		billing: { unit: 'image', mode: 'price', value: 'cheap' },
	};
	const parameters = { size: '1x1', steps: 3, n: 2 };
	const images = [1, 2, 3].map((size) => ({ size, mimeType: 'image/gif', fileName: 'x' }));
	expect(wrong(odd, { taskType: 'edit', parameters, images })).toEqual([]);
	expect(estimateCost(readModel({ model: 'm', ...odd })!.billing, 2)).toBeUndefined();
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

test.each([
	[{}, 5000],
	[{ 'cache-control': 'Max-Age="20"' }, 20_000],
	[{ 'cache-control': 'public,max-age=60', age: '50' }, 10_000],
	[{ 'cache-control': 'max-age=3600' }, 60_000],
	[{ 'cache-control': 'max-age=60', age: '90' }, 0],
	[{ 'cache-control': 'max-age=60', age: 'old' }, 0],
	[{ 'cache-control': 'max-age=soon' }, 5000],
	[{ 'cache-control': 'no-store' }, 0],
	[{ 'cache-control': 'no-cache, max-age=60' }, 0],
	[{ 'cache-control': `${','.repeat(100_000)}max-age=60` }, 5000],
])('a response with %j is kept for %d ms', (headers, ms) => {
	expect(ttlMsOf(headers as Record<string, string>)).toBe(ms);
});
