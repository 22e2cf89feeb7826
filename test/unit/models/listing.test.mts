import {
	holdsModels,
	makesVideos,
	planModel,
	planModelList,
	readModel,
	readModelList,
	suits,
} from '../../../gateway/models/models.js';
import { readImageModels } from '../../../gateway/models/imageModels.js';
import { planNextPage } from '../../../gateway/models/listPages.js';
import { planModelNames, readModelNames } from '../../../gateway/models/modelNames.js';
import { saysFailure } from '../../../gateway/responses/errorBody.js';

const record = {
	model: 'painter',
	media_type: 'image',
	modes: ['text_to_image', 'image_edit'],
	generation_modes: ['sync', 'async'],
	parameters: { size: ['1:1', '16:9'], steps: [10, 20], transparent: [true, false] },
	inputs: {
		reference_images: { max_count: 4, max_size_mb: 9.5, formats: ['png'], source_types: ['url'] },
	},
	billing: { unit: 'image', mode: 'price', value: 0.04 },
	note: 'fast',
};

test('a full record is read', () => {
	expect(readModel(record)).toEqual({
		model: 'painter',
		mediaType: 'image',
		modes: ['text_to_image', 'image_edit'],
		generationModes: ['sync', 'async'],
		parameters: record.parameters,
		referenceImages: { maxCount: 4, maxSizeMb: 9.5, formats: ['png'], sourceTypes: ['url'] },
		billing: { unit: 'image', mode: 'price', value: 0.04 },
		note: 'fast',
		raw: record,
	});
});

test('what has another form than it should is left out', () => {
	expect(
		readModel({
			model: 'painter',
			media_type: 7,
			modes: ['text_to_image', 8, null],
			generation_modes: 'async',
			parameters: { size: ['1:1', null, {}, NaN], ratio: 'any', __proto__x: [1] },
			inputs: { reference_images: [] },
			billing: 'free',
			note: ['a'],
		}),
	).toMatchObject({
		mediaType: undefined,
		modes: ['text_to_image'],
		generationModes: undefined,
		parameters: { size: ['1:1'], ratio: [] },
		referenceImages: undefined,
		billing: undefined,
		note: undefined,
	});
});

test.each([null, [], {}, { model: ' ' }, { model: 3 }])('%j names no model', (entry) => {
	expect(readModel(entry)).toBeUndefined();
	expect(readModelList(entry)).toEqual([]);
});

test('of names alone, each is listed once, in alphabetical order', () => {
	expect(planModelNames()).toMatchObject({ call: 'names', path: '/v1/models', paid: false });
	const data = [{ id: ' painter' }, { id: 'b' }, { id: 'painter' }, null, 'c', { id: 7 }];
	expect(readModelNames({ data })).toEqual(
		['b', 'c', 'painter'].map((model) => {
			return { model, parameters: {}, raw: { model }, isNameOnly: true };
		}),
	);
});

const [IMAGE, VIDEO] = ['image', 'video'].map((media_type) => ({ model: 'a', media_type }));
test.each([
	[{ ...IMAGE, modes: ['text_to_image'] }, true, false],
	[{ ...IMAGE, modes: ['image_edit'] }, false, false],
	[{ ...IMAGE, modes: ['text_to_video'] }, false, false],
	[{ ...VIDEO, modes: ['text_to_image'] }, false, true],
	// Without a media type the modes tell it.
	[{ model: 'a', modes: ['text_to_video', 'video'] }, false, true],
	[{ model: 'a', modes: ['text_to_video', 'text_to_image'] }, true, false],
	[{ model: 'a' }, true, false],
])('%j may be offered for a generation: %s; makes only videos: %s', (entry, isOffered, isVideo) => {
	expect(suits(readModel(entry)!, 'text_to_image')).toBe(isOffered);
	expect(makesVideos(readModel(entry)!)).toBe(isVideo);
});

test('a list of image models has those with an ID', () => {
	const data = [{ name: 'painter' }, { id: ' ' }, 7, { id: ' painter ' }];
	expect(readImageModels({ data }).map(({ model }) => model)).toEqual(['painter']);
});

test.each<[string, object, string[] | undefined]>([
	['plain texts', { data: ['b', ' a '] }, ['a', 'b']],
	['objects with a name', { models: [{ name: 'a' }, { model: 'b' }, {}] }, ['a', 'b']],
	['items inside', { data: { items: [{ id: 'a' }], total: 1 } }, ['a']],
	['an error', { data: { error: {} } }, undefined],
	['items that are none', { data: { items: {} } }, undefined],
])('names of models as %s', (_, body, names) => {
	expect(readModelNames(body)?.map(({ model }) => model)).toEqual(names);
});

test.each([
	[{ success: false, data: { items: [] } }, true],
	[{ success: 'false' }, true],
	[{ data: { items: [] } }, false],
	['false', false],
])('%j reports a failure: %s', (body, expected) => {
	expect(saysFailure(body)).toBe(expected);
});

test.each([
	['a list', planModelList(), { data: { items: [] } }, true],
	['one model in place of a list', planModelList(), { data: { model: 'painter' } }, false],
	['one model', planModel('painter'), { data: { model: 'painter' } }, true],
	['nothing in place of a model', planModel('painter'), { data: null }, false],
])('%s is told from what was not requested', (_, plan, body, expected) => {
	expect(holdsModels(plan, body)).toBe(expected);
});

describe('the next page of a list', () => {
	const page = (json: unknown) => {
		const next = planNextPage(planModelNames(), json, { pages: 1, count: 2 });
		return next && `${next.path}?${new URLSearchParams(next.query)}`.replace(/\?$/, '');
	};

	test.each<[string, unknown, string | undefined]>([
		['none', { data: ['a', 'b'] }, undefined],
		['after the last ID', { has_more: true, last_id: 'b' }, '/v1/models?after=b&after_id=b'],
		['none after the last ID', { has_more: false, last_id: 'b' }, undefined],
		['by a total', { data: { items: ['a', 'b'], total: 3 } }, '/v1/models?page=2&offset=2'],
		['no JSON', 'text', undefined],
	])('%s', (_, json, path) => {
		expect(page(json)).toBe(path);
	});
});
