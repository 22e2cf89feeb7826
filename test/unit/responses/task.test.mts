import { readImages } from '../../../gateway/responses/responseFields.js';
import {
	otherTaskId,
	readTaskState,
	taskName,
	withFullAddresses,
} from '../../../gateway/responses/task.js';
import { taskError } from '../../../gateway/errors/taskErrors.js';

const task = { taskId: 't1', taskType: 'edit' as const };

test('images have full addresses, except those that came inline or lead nowhere', () => {
	const urls = ['/files/1.png', 'https://images.example/2.png', 'data:image/png;base64,AAAA'];
	const images = readImages({ data: [...urls, 'http://'].map((url) => ({ url, seed: 7 })) });
	const full = withFullAddresses(images, 'https://gateway.example');
	expect(full.map(({ url }) => url)).toEqual([
		'https://gateway.example/files/1.png',
		'https://images.example/2.png',
		'data:image/png;base64,AAAA',
		'http://',
	]);
	expect(full.map((image, index) => ({ ...image, url: images[index].url }))).toEqual(images);
});

test("the protocol's paths lie below the path of the gateway's address", () => {
	const urls = ['/v1/files/1.png', '/files/2.png', '3.png'].map((url) => ({ url }));
	expect(withFullAddresses(urls, 'https://gateway.example/api').map(({ url }) => url)).toEqual([
		'https://gateway.example/api/v1/files/1.png',
		'https://gateway.example/files/2.png',
		'https://gateway.example/api/3.png',
	]);
	const inline = { url: 'data:;base64,AAAA', address: '/v1/files/1.png' };
	expect(withFullAddresses([inline], 'https://gateway.example')).toEqual([
		{ ...inline, address: 'https://gateway.example/v1/files/1.png' },
	]);
});

describe('the response to a poll', () => {
	test('is read with everything that it says', () => {
		const response = {
			id: 't1',
			status: ' Completed ',
			created: 1_900_000_000,
			model: 'painter',
			data: [{ url: 'https://a/1.png' }],
			extra: { seed: 7 },
		};
		expect(readTaskState(task, response)).toEqual({
			taskId: 't1',
			taskType: 'edit',
			status: 'Completed',
			group: 'success',
			images: [{ url: 'https://a/1.png' }],
			created: 1_900_000_000,
			model: 'painter',
			reason: undefined,
			response,
		});
	});

	test.each([
		[{ error: { message: 'no <b>cats</b>' } }, 'no cats'],
		[{ reason: 'no cats' }, 'no cats'],
		[{ error: { message: 'key sk-abcdefgh12 refused' } }, 'key … refused'],
	])('%j has the reason %j', (body, reason) => {
		expect(readTaskState(task, { status: 'failed', ...body }).reason).toBe(reason);
	});

	test.each([
		[{ id: 't1' }, undefined],
		[{ id: 'request-9', task_id: 't1' }, undefined],
		[{ task_id: 't2' }, 't2'],
		[{ status: 'running' }, undefined],
	])('%j is about another task: %j', (body, id) => {
		expect(otherTaskId('t1', body)).toBe(id);
	});
});

describe('the error of a task', () => {
	const errorOf = (body: object) => taskError(readTaskState(task, { ...body }))?.problem;
	const images = [{ url: 'https://a/1.png' }];

	test.each(['queued', 'running', 'mystery', ''])('is none while it is %j', (status) => {
		expect(errorOf({ status })).toBeUndefined();
	});

	test('names the task, its status and the reason', () => {
		expect(errorOf({ status: 'Cancelled', error: 'by you' })).toMatchObject({
			message: 'The edit task t1 ended with the status "Cancelled": by you',
			taskId: 't1',
			taskType: 'edit',
			status: 'Cancelled',
		});
		expect(errorOf({ status: 'failed' })?.message).toBe(
			'The edit task t1 ended with the status "failed"',
		);
	});

	test('holds for a failed task although there is an image', () => {
		expect(errorOf({ status: 'failed', data: images })).toBeDefined();
	});

	test('has an ID that is safe to show', () => {
		expect(taskName({ taskId: 'a\u0007<script>b', taskType: 'generation' })).toBe(
			'generation task a b',
		);
		expect(taskName({ taskId: 't1' })).toBe('task t1');
	});
});
