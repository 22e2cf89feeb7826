import fc from 'fast-check';
import { readApiAddress } from '../../../gateway/protocol/url.js';
import {
	cleanApiKey,
	credentialProblem,
	readCredential,
} from '../../../gateway/protocol/credential.js';
import { errorFor } from '../../../gateway/errors/errorFor.js';
import { RateLimiter } from '../../../gateway/pace/rateLimiter.js';
import { imageFileName } from '../../../util/imageType.js';
import { planModel, readModelList } from '../../../gateway/models/models.js';
import { isGood, chargedAfter, type Outcome } from '../../../gateway/protocol/outcome.js';
import { retryAfterMs } from '../../../gateway/protocol/retryAfter.js';
import {
	planImages,
	planTaskQuery,
	type RequestPlan,
} from '../../../gateway/protocol/requestPlan.js';
import { GatewayError, hasCode } from '../../../gateway/protocol/gatewayError.js';
import { decideRetry } from '../../../gateway/pace/retryPolicy.js';
import { Client } from '../../../gateway/pace/client.js';
import { statusGroup } from '../../../gateway/protocol/status.js';
import { readTaskState } from '../../../gateway/responses/task.js';
import { taskError } from '../../../gateway/errors/taskErrors.js';
import { Poller } from '../../../gateway/wait/poller.js';
import type { OpenResult } from '../../../gateway/wait/pollTask.js';
import { anyCharacter } from '../any-character.mjs';
import { sendBy } from '../senders.mjs';
import { FakeClock } from '../fake-clock.mjs';
import { FAULTS } from '../virtual-gateway.mjs';

const PROPERTIES = 12;
/** All properties together. `MEDIA_GATEWAY_FUZZ_RUNS=1000000 npx jest test/unit/hostile/fuzz` for more. */
const ALL_RUNS = Number(process.env.MEDIA_GATEWAY_FUZZ_RUNS) || 4000;
const options = { numRuns: Math.ceil(ALL_RUNS / PROPERTIES) };
const LONGEST_MS = 20_000 + ALL_RUNS;

const task = { taskId: 't1', taskType: 'generation' as const };

const PIECES = [
	...['<', '>', '<b>', '</', '<!--', '..', '/', '\\', '%2e', '%00', '\u0000', '\u202e', '\ud800'],
	...['.', ' ', 'a', 'sk-abcdefgh', 'quota'],
];

/** Texts as a hostile gateway might send them. */
const text = fc.oneof(
	fc.string({ unit: anyCharacter, maxLength: 60 }),
	fc.string({ unit: 'grapheme', maxLength: 60 }),
	fc.array(fc.constantFrom(...PIECES), { maxLength: 30 }).map((parts) => parts.join('')),
	fc.constantFrom('completed', 'failed', ' Running ', 'success', '__proto__', 'constructor'),
);

/** What an address has in its path: as `fc.webUrl`, which lists all of Unicode before its first. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const inPercents = anyCharacter.map((one) => {
	const encoded = encodeURIComponent(one);
	return encoded === one ? `%${one.charCodeAt(0).toString(16)}` : encoded;
});
const webText = (marks: string) =>
	fc.string({
		unit: fc.oneof(
			{ weight: 10, arbitrary: fc.constantFrom(...LETTERS, ...marks) },
			{ weight: 1, arbitrary: inPercents },
		),
	});
const MARKS = "-._~!$&'()*+,;=:@";
const query = webText(`${MARKS}/?`).map((one) => `?${one}`);
const webUrl = (end: fc.Arbitrary<string> = fc.constant('')) =>
	fc
		.tuple(fc.constantFrom('http', 'https'), fc.webAuthority(), fc.array(webText(MARKS)), end)
		.map(([scheme, host, path, rest]) => `${scheme}://${[host, ...path].join('/')}${rest}`);

const FIELDS = [
	...['id', 'status', 'data', 'items', 'url', 'b64_json', 'error', 'message', 'type', 'model'],
	...['media_type', 'modes', 'parameters', 'inputs', 'reference_images', 'billing', 'value'],
	...['created', 'reason', 'code', 'base_resp', 'status_code', '__proto__', 'toString', 'valueOf'],
];

/** Anything that JSON can say, with the names that the reader looks for. */
const json: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
	value: fc.oneof(
		{ depthSize: 'small' },
		fc.constant(null),
		fc.boolean(),
		fc.double(),
		text,
		fc.array(tie('value'), { maxLength: 4 }),
		fc.dictionary(fc.oneof(fc.constantFrom(...FIELDS), text), tie('value'), { maxKeys: 6 }),
	),
})).value;

/** Answers that look like what they should be, but for what is in them. */
const loosely = (shape: Record<string, fc.Arbitrary<unknown>>) =>
	fc.record(
		Object.fromEntries(
			Object.entries(shape).map(([name, value]) => [
				name,
				fc.oneof({ arbitrary: value, weight: 4 }, json),
			]),
		),
		{ requiredKeys: [] },
	);

const jsonObject = loosely({
	id: text,
	status: text,
	data: fc.array(fc.oneof(loosely({ url: text, b64_json: text }), json), { maxLength: 4 }),
	error: loosely({ message: text, type: text }),
	message: text,
	reason: text,
	model: text,
	created: fc.double(),
});

const listing = loosely({
	data: loosely({
		items: fc.array(
			loosely({
				model: text,
				media_type: fc.constantFrom('image', 'video'),
				modes: fc.array(text, { maxLength: 3 }),
				parameters: fc.dictionary(fc.oneof(text, fc.constant('__proto__')), fc.array(json), {
					maxKeys: 4,
				}),
				inputs: loosely({ reference_images: loosely({ max_count: json, formats: json }) }),
				billing: loosely({ unit: text, mode: text, value: fc.double() }),
			}),
			{ maxLength: 4 },
		),
	}),
});

const headers = fc.record(
	{
		'retry-after': fc.oneof(
			text,
			fc.integer().map(String),
			fc.double().map(String),
			fc.date().map(String),
		),
		location: text,
	},
	{ requiredKeys: [] },
) as fc.Arbitrary<Record<string, string>>;

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
	fc.record({
		kind: fc.constant('response' as const),
		httpCode: fc.oneof(
			fc.constantFrom(200, 400, 401, 404, 408, 429, 500, 502, 503),
			fc.integer({ min: 100, max: 599 }),
		),
		headers,
		text,
		json: fc.oneof(json, jsonObject, fc.constant(undefined)),
	}),
	fc.record({
		kind: fc.constant('fault' as const),
		fault: fc.constantFrom(...FAULTS),
		detail: fc.constantFrom('', 'ECONNRESET'),
	}),
);

const plan: fc.Arbitrary<RequestPlan> = fc.record({
	call: fc.constantFrom('submit', 'sync', 'poll', 'download', 'listing', 'message'),
	method: fc.constantFrom('GET', 'POST'),
	path: fc.constant('/v1/x'),
	query: fc.constant({}),
	headers: fc.constant({}),
	body: fc.constantFrom(undefined, { temperature: 1 }),
	paid: fc.boolean(),
});

const UNFIT = /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]|<[a-z/!?]|\bsk-abcdefgh/iu;

function check<Ts extends [unknown, ...unknown[]]>(
	name: string,
	property: fc.IRawProperty<Ts>,
): void {
	test(name, async () => await fc.assert(property, options), LONGEST_MS);
}

check(
	'any task response is read, and an unsafe text never becomes a reason or a status',
	fc.property(jsonObject, (body) => {
		const state = readTaskState(task, body);
		expect(state.images.every(({ url }) => typeof url === 'string' && url !== '')).toBe(true);
		const problem = taskError(state)?.problem;
		for (const shown of [state.status, state.reason ?? '', problem?.message ?? '']) {
			expect(shown.replace(/sk-\w+/g, '')).not.toMatch(UNFIT);
			expect(shown.length).toBeLessThan(1000);
		}
		if (problem !== undefined) expect(problem).toMatchObject(task);
	}),
);

check(
	'any listing is read, and has only models with a name',
	fc.property(fc.oneof(json, listing), (body) => {
		for (const record of readModelList(body)) {
			expect(record.model.trim()).not.toBe('');
			expect(Object.values(record.parameters).every(Array.isArray)).toBe(true);
		}
	}),
);

check(
	'any outcome becomes an error that can be shown, and is unknown only where it was paid',
	fc.property(plan, outcome, fc.integer({ min: 1, max: 20 }), (request, result, attempts) => {
		const error = errorFor(request, result, attempts);
		expect(error).toBeInstanceOf(GatewayError);
		const unknown = hasCode(error, 'outcomeUnknown');
		expect(unknown).toBe(request.paid && chargedAfter(result, request.call) === 'maybe');
		const { message, description } = error.problem;
		expect(message).not.toMatch(UNFIT);
		// An address to go to is quoted as it is.
		expect(description.replace(/sk-\w+/g, '')).not.toMatch(UNFIT);
		expect(message).not.toMatch(/undefined|\[object/);
		expect(message.length + description.length).toBeLessThan(1500);
	}),
);

check(
	'no paid request is sent again unless it was surely not accepted, and none for ever',
	fc.property(
		outcome,
		fc.boolean(),
		fc.nat(30),
		fc.nat(5),
		fc.double({ min: 0, max: 1, noNaN: true }),
		(result, paid, attempts, quotaRefusals, random) => {
			const tries = { attempts, rateRefusals: 0, quotaRefusals, refusalsInARow: attempts, random };
			const plan = { paid, call: paid ? 'sync' : 'download' } as const;
			const decision = decideRetry({ ...tries, plan, outcome: result, nowMs: 1e12 });
			if (!decision.again) return;
			if (paid) expect(chargedAfter(result)).toBe('no');
			expect(isGood(result)).toBe(false);
			if (attempts >= 15) expect(quotaRefusals).toBeLessThanOrEqual(1);
			expect(decision.afterMs).toBeGreaterThanOrEqual(0);
			expect(decision.afterMs).toBeLessThanOrEqual(300_000);
		},
	),
);

check(
	'any status has a group, whatever its case and the blanks around it',
	fc.property(
		fc.oneof(text, json),
		fc.string({ unit: fc.constantFrom(' ', '\t', '\n'), maxLength: 4 }),
		(status, blanks) => {
			const group = statusGroup(status);
			expect(['waiting', 'working', 'success', 'unsuccessful', 'unknown']).toContain(group);
			if (typeof status === 'string') {
				expect(statusGroup(blanks + status + blanks)).toBe(group);
			}
		},
	),
);

check(
	'no address gives a file name that leaves its place',
	fc.property(
		fc.oneof(
			text,
			text.map((path) => `https://cdn.example/${path}`),
			webUrl(),
		),
		text,
		(url, mimeType) => {
			const name = imageFileName(url, mimeType);
			expect(name).toMatch(/^[\p{L}\p{M}\p{N}][\p{L}\p{M}\p{N}._ -]*\.[a-z0-9]{2,8}$/u);
			expect(name).not.toContain('..');
			expect(Array.from(name).length).toBeLessThanOrEqual(90);
		},
	),
);

check(
	'any address is refused, or is the same when it is read again',
	fc.property(
		fc.oneof(
			text,
			webUrl(),
			webUrl(fc.oneof(query, fc.constant(''))).map((url) => `${url}/v1/`),
		),
		(typed) => {
			const address = readApiAddress(typed)?.url;
			if (address === undefined) return;
			expect(readApiAddress(address)?.url).toBe(address);
			expect(address).toMatch(/^https?:\/\//);
			expect(address).not.toMatch(/\/$|\/v1$/);
		},
	),
);

check(
	'any key is cleaned, and only one that fits into a header may be sent',
	fc.property(fc.oneof(text, json), (typed) => {
		const key = cleanApiKey(typed);
		if (credentialProblem(readCredential({ baseUrl: 'https://h', apiKey: typed })) === undefined) {
			expect(key).toMatch(/^[\x21-\x7e]+$/);
			expect(key).not.toMatch(/^bearer\b\s/i);
			expect(cleanApiKey(`Bearer ${key}`)).toBe(key);
		}
	}),
);

check(
	'any name is one part of a path',
	fc.property(text, (name) => {
		fc.pre(name !== '.' && name !== '..');
		for (const { path } of [planTaskQuery('edit', name), planModel(name)]) {
			expect(path.split('/')).toHaveLength(5);
			expect(path).toMatch(/^[\x21-\x7e]*$/);
			expect(path).not.toMatch(/[?#]/);
		}
	}),
);

check(
	'any Retry-After is a pause of at most 31 days, or nothing',
	fc.property(fc.oneof(text, fc.double().map(String), fc.date().map(String)), (header) => {
		const ms = retryAfterMs(header, 1e12) ?? 0;
		expect(ms).toBeGreaterThanOrEqual(0);
		expect(ms).toBeLessThanOrEqual(31 * 86_400_000);
	}),
);

check(
	'whatever the responses, each wait ends soon after its deadline and polls no more often than once a second',
	fc.asyncProperty(
		fc.array(fc.tuple(outcome, fc.nat(60_000)), { minLength: 1, maxLength: 30 }),
		fc.array(fc.oneof(fc.integer({ min: -10, max: 120_000 }), fc.double()), {
			minLength: 1,
			maxLength: 5,
		}),
		fc.tuple(fc.double(), fc.nat(), fc.double()),
		fc.integer(),
		async (responses, maxWaits, [intervalMs, tasks, ageMs], seed) => {
			const clock = new FakeClock(seed);
			const asked = new Map<string, number>();
			let next = 0;
			const poller = new Poller({
				clock,
				intervalMs,
				coming: () => tasks,
				pollOnce: async ({ taskId }, timeLeftMs): Promise<OpenResult> => {
					const pauseMs = clock.now() - (asked.get(taskId) ?? -Infinity);
					// `expect` would take more time than the poller.
					if (!(timeLeftMs() >= 1000 && pauseMs >= 999.99)) {
						throw new Error(`A poll after ${pauseMs} ms, with ${timeLeftMs()} ms left`);
					}
					const [result, takesMs] = responses[next++ % responses.length];
					await clock.sleep(takesMs);
					asked.set(taskId, clock.now());
					if (isGood(result)) return { kind: 'state', state: readTaskState(task, result.json) };
					const error = errorFor(planTaskQuery('generation', taskId), result);
					if (result.kind === 'response' && result.httpCode === 404) throw error;
					const header = result.kind === 'response' ? result.headers['retry-after'] : undefined;
					return { kind: 'transient', error, pauseMs: retryAfterMs(header, 1e12) };
				},
			});
			const waits = maxWaits.map(async (maxWaitMs, index) => {
				// A wait without an end would be polled for ever.
				const bounded = Math.min(maxWaitMs, 200_000);
				const ended = poller.wait({ taskId: `${index}`, taskType: 'edit' }, bounded, ageMs);
				await ended.catch((error) => expect(error).toBeInstanceOf(GatewayError));
				// Half a minute more, where no response has told anything about it yet.
				expect(clock.now()).toBeLessThanOrEqual((bounded > 1000 ? bounded : 1000) + 30_000);
			});
			await clock.run(Promise.all(waits));
			await clock.pass(100_000);
			expect(clock.sleeping).toBe(0);
		},
	),
);

check(
	'whatever the responses, each request ends, and a paid one was accepted once at the most',
	fc.asyncProperty(
		fc.array(outcome, { minLength: 1, maxLength: 20 }),
		fc.integer({ min: 1, max: 20 }),
		fc.integer({ min: 1, max: 5 }),
		fc.option(fc.double({ min: 0.1, max: 1000, noNaN: true }), { nil: undefined }),
		fc.integer(),
		async (outcomes, count, concurrency, requestsPerSecond, seed) => {
			const clock = new FakeClock(seed);
			const limiter = new RateLimiter({ concurrency, requestsPerSecond, clock });
			const maybeAccepted = new Map<RequestPlan, number>();
			let next = 0;
			const client = new Client({
				limiter,
				clock,
				sendOnce: async (sent) => {
					await clock.sleep(20);
					const result = outcomes[next++ % outcomes.length];
					if (chargedAfter(result) === 'maybe')
						maybeAccepted.set(sent, (maybeAccepted.get(sent) ?? 0) + 1);
					return result;
				},
			});
			const plans = Array.from({ length: count }, () =>
				planImages('generation', { model: 'm', prompt: 'p' }, 'query'),
			);
			const sends = plans.map(async (sent) => {
				await sendBy(client, sent).catch((error: unknown) => {
					expect(error).toBeInstanceOf(GatewayError);
				});
			});
			await clock.run(Promise.all(sends));
			expect([...maybeAccepted.values()].every((times) => times === 1)).toBe(true);
		},
	),
);
