/** How the lists of models are requested. */
import { ModelLists } from '../../../gateway/models/modelLists.js';
import { RateLimiter } from '../../../gateway/pace/rateLimiter.js';
import { accountOf } from '../../../gateway/protocol/account.js';
import type { RequestPlan } from '../../../gateway/protocol/requestPlan.js';
import { FakeClock } from '../fake-clock.mjs';
import { response } from '../virtual-gateway.mjs';

/** The first of the models that a page names. */
const pageOf = ({ query }: RequestPlan): number => Number(query?.offset ?? 0);

const pricing = [{ billable: 'output_image', unit: 'image', cost_usd: 0.04 }];

let gateways = 0;

/** Lists of a gateway that names one model a page, of a hundred, and knows each of them. */
function open(takesMs: number, concurrency = 10) {
	const clock = new FakeClock();
	const sent: Array<{ plan: RequestPlan; timeoutMs?: number }> = [];
	let [inFlight, most] = [0, 0];
	const lists = new ModelLists({
		// The process caches lists by their addresses.
		account: accountOf({ baseUrl: `https://gateway${gateways++}.example`, apiKey: 'k' }),
		clock,
		client: { request: () => Promise.reject(new Error('Not sent in this way')) },
		limiter: new RateLimiter({ concurrency, clock }),
		limits: { timeoutMs: 300_000 },
		sendOnce: async (plan, timeoutMs = Infinity) => {
			sent.push({ plan, timeoutMs });
			most = Math.max(most, ++inFlight);
			await clock.sleep(Math.min(takesMs, timeoutMs));
			inFlight -= 1;
			if (takesMs > timeoutMs) return { kind: 'fault', fault: 'timeout', detail: '' };
			const [, single] = /models\/(.+)/.exec(plan.path) ?? [];
			if (plan.path.endsWith('/endpoints')) return response(200, { endpoints: [{ pricing }] });
			const data = { items: [{ model: `m${pageOf(plan)}` }], total: 100 };
			return response(200, { success: true, data: single ? { model: single } : data });
		},
	});
	return { clock, lists, sent, most: () => most };
}

test('the pages of a list that is not waited for have one deadline, at which it is cut', async () => {
	const { clock, lists, sent } = open(4000);
	const { models, isCut } = await clock.run(lists.readOnce('media'));
	expect(models.map(({ model }) => model)).toEqual(['m0', 'm1']);
	expect(isCut).toBe(true);
	expect(sent.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 6000, 2000]);
});

test('single models of a cut list are few at a time, and have one deadline together', async () => {
	const { clock, lists, sent, most } = open(3000, 2);
	const names = Array.from({ length: 12 }, (_, index) => `a${index}`);
	const found = await clock.run(Promise.all(names.map((name) => lists.readModelOnce(name))));
	expect(most()).toBe(2);
	expect(found.flatMap((record) => record?.model ?? [])).toEqual(names.slice(0, 6));
	// Two more were begun before the deadline.
	expect(sent).toHaveLength(8);
});

test('so have prices that the list names the addresses of', async () => {
	const { clock, lists, sent } = open(3000, 2);
	const records = Array.from({ length: 12 }, (_, index) => ({
		...{ model: `a${index}`, parameters: {}, raw: {} },
		pricesAt: `/v1/images/models/a${index}/endpoints`,
	}));
	const priced = await clock.run(Promise.all(records.map((record) => lists.withPrice(record))));
	expect(priced.filter(({ billing }) => billing?.value === 0.04)).toHaveLength(6);
	expect(sent).toHaveLength(8);
});
