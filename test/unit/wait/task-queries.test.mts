import {
	folderOf,
	isUnique,
	planTaskQueries,
	TasksOfRun,
} from '../../../gateway/wait/taskQueries.js';
import { pathAtGateway } from '../../../gateway/protocol/url.js';

const HOME = 'https://gateway.example';
const LONG = 'task_0123456789';
const edit = { taskId: LONG, taskType: 'edit' as const };

const queries = (...[task, ...more]: Parameters<typeof planTaskQueries>) =>
	planTaskQueries(task, ...more).map(({ plan, where }) => `${where} ${plan.path}`);

describe('the addresses of a task', () => {
	test('of known kind: its own path, that of the other kind, and those of other gateways', () => {
		expect(queries(edit, HOME)).toEqual([
			`usual /v1/images/edits/${LONG}`,
			`other /v1/images/generations/${LONG}`,
			`other /v1/images/tasks/${LONG}`,
			`other /v1/tasks/${LONG}`,
		]);
		expect(planTaskQueries(edit, HOME)[0]?.plan).toMatchObject({ method: 'GET', paid: false });
		const calls = planTaskQueries(edit, HOME).map(({ plan }) => plan.call);
		expect(calls).toEqual(['poll', 'poll', 'poll', 'poll']);
	});

	test('with an address of its own: that first, then all others', () => {
		const task = { ...edit, statusUrl: '/v1/jobs/7?full=1' };
		expect(queries(task, HOME)).toEqual([
			'named /v1/jobs/7?full=1',
			`usual /v1/images/edits/${LONG}`,
			`other /v1/images/generations/${LONG}`,
			`other /v1/images/tasks/${LONG}`,
			`other /v1/tasks/${LONG}`,
		]);
		const usual = { ...edit, statusUrl: `/v1/images/edits/${LONG}` };
		expect(queries(usual, HOME)).toEqual(queries(edit, HOME));
	});

	test('where the path of others is known: that and the own, and all before the task is given up', () => {
		const known = ['usual /v1/tasks/7', 'other /v1/images/edits/7'];
		const task = { ...edit, taskId: '7' };
		expect(queries(task, HOME, '/v1/tasks')).toEqual(known);
		expect(queries(task, HOME, '/v1/images/edits')).toEqual(['usual /v1/images/edits/7']);
		expect(queries(task, HOME, '/v1/tasks', true)).toEqual([
			...known,
			'other /v1/images/generations/7',
			'other /v1/images/tasks/7',
		]);
	});
});

test.each<[string, 'edit' | undefined, string, boolean]>([
	['7', 'edit', '/v1/images/edits', true],
	['7', 'edit', '/v1/images/generations', false],
	['0123456789a', 'edit', '/v1/images/generations', false],
	['0123456789ab', 'edit', '/v1/images/generations', true],
	[LONG, undefined, '/v1/images/generations', false],
	['7', undefined, '/v1/tasks', true],
])('the task %s of kind %s at %s is certain: %s', (taskId, taskType, path, isCertain) => {
	expect(isUnique({ taskId, taskType }, path)).toBe(isCertain);
});

test('of a gateway that is kept, only the last tasks are remembered', () => {
	const tasks = new TasksOfRun();
	const add = (taskId: string) => tasks.add({ taskId, taskType: 'edit' });
	const isKnown = (taskId: string) =>
		tasks.isOther({ taskId, taskType: 'generation' }, '/v1/images/edits');
	for (const taskId of ['old', 'polled']) add(taskId);
	for (let index = 0; index < 19_999; index += 1) add(`t${index}`);
	expect([isKnown('old'), isKnown('polled')]).toEqual([false, true]);
	add('polled');
	for (let index = 0; index < 1000; index += 1) add(`u${index}`);
	expect([isKnown('polled'), isKnown('t0')]).toEqual([true, false]);
});

test('the path of a query without the ID', () => {
	const [query] = planTaskQueries({ taskId: 'a/b', statusUrl: undefined }, HOME);
	expect(folderOf(query!.plan)).toBe('/v1/images/generations');
	const [named] = planTaskQueries({ taskId: 'a', statusUrl: '/v1/jobs/a' }, HOME);
	expect(folderOf(named!.plan)).toBeUndefined();
});

describe('an address at the gateway', () => {
	const BELOW = `${HOME}/api`;

	test.each<[string, string, string | undefined]>([
		['/v1/jobs/7', HOME, '/v1/jobs/7'],
		['v1/jobs/7?a=1#b', HOME, '/v1/jobs/7?a=1'],
		[`${HOME}/v1/jobs/7`, HOME, '/v1/jobs/7'],
		['/v1/jobs/7', BELOW, '/v1/jobs/7'],
		['/api/v1/jobs/7', BELOW, '/v1/jobs/7'],
		[`${BELOW}/v1/jobs/7`, BELOW, '/v1/jobs/7'],
		['https://user:password@gateway.example/v1/jobs/7', HOME, '/v1/jobs/7'],
		['/v1/../../../admin', BELOW, undefined],
		['/api/..%2fadmin', BELOW, undefined],
		['/other/v1/jobs/7', BELOW, undefined],
		[`${HOME}.elsewhere.example/v1/jobs/7`, HOME, undefined],
		[`${HOME}:8443/v1/jobs/7`, HOME, undefined],
		['http://gateway.example/v1/jobs/7', HOME, undefined],
		['//elsewhere.example/v1/jobs/7', HOME, undefined],
		['\\\\elsewhere.example\\v1\\jobs\\7', HOME, undefined],
		[`/v1/${'x'.repeat(1996)}`, HOME, `/v1/${'x'.repeat(1996)}`],
		[`/v1/${'x'.repeat(1997)}`, HOME, undefined],
	])('%j at %s is %j', (address, home, path) => {
		expect(pathAtGateway(address, home)).toBe(path);
	});
});
