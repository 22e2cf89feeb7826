import { isOutOfQuota, is429ForQuota, speaksOfMoney } from '../../../gateway/responses/quota.js';
import { isRateLimited } from '../../../gateway/pace/retryPolicy.js';
import type { HttpResponse } from '../../../gateway/protocol/outcome.js';
import { response, page } from '../virtual-gateway.mjs';

const MONEY = [
	'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
	'insufficient_quota',
	'Insufficient balance or no resource package. Please recharge.',
	'Your credit balance is too low to access the API. Please go to Plans & Billing to upgrade or purchase credits.',
	'Balance of $0.00 is not enough for this request',
	'Not enough remaining credits to generate this image',
	'You are out of credits. Buy more at https://example.com/pricing',
	'All your credits have been used up',
	'Insufficient quota: 1 token/day',
	'You have exceeded your quota of 100 images per day',
	'Billing hard limit has been reached',
	'You have reached your spending limit',
	'Too many requests: insufficient balance',
	'账户余额不足，请充值后重试',
	'用户额度不足, 剩余额度: ＄0.000000',
	'预扣费额度失败, 用户剩余额度: ＄0.1, 需要预扣费额度: ＄0.2',
	'saldo insuficiente',
];

const HASTE = [
	'Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit 10000, Used 9000, Requested 2000. Please try again in 6s. Visit https://platform.openai.com/account/rate-limits to learn more. You can increase your rate limit by adding a payment method to your account at https://platform.openai.com/account/billing.',
	'Rate limit reached (quota of 60 requests per minute). See billing.',
	'Quota exceeded for quota metric "Generate requests" and limit "Requests per minute"',
	'You exceeded your current quota, please check your plan and billing details. Please retry in 34.074824443s.',
	'Request quota exceeded',
	'Too many requests',
	'Too many requests, please slow down. Top up to raise your limits.',
	'Too many requests. Upgrade your plan at https://gateway.example/billing?balance=insufficient',
	'Too many requests: your daily quota is exceeded',
	'The load balancer has no healthy upstream',
	'Insufficient capacity, credits are not affected',
	'You have 500 credits remaining. Please slow down.',
	'The service is busy. Your balance was not charged.',
	'You may run 2 concurrent requests on your billing plan',
	'Read about quota at gateway.example/docs/insufficient-balance',
	'Number of requests exceeds the QPS limit',
	'Rate limit of 20 RPM exceeded, quota resets soon',
	'Daily quota exceeded, resets in 30 seconds',
	'请求过于频繁，请稍后再试',
	'当前分组上游负载已饱和，请稍后再试',
	'',
];

const refused = (error: unknown) => response(429, { error });

test.each(MONEY)('is about money: %s', (message) => {
	expect(speaksOfMoney(message)).toBe(true);
	expect(speaksOfMoney(message.toUpperCase())).toBe(true);
	expect(is429ForQuota(refused({ message, type: 'invalid_request_error' }))).toBe(true);
	expect(isRateLimited(refused({ message }))).toBe(false);
});

test.each(HASTE)('is about haste: %s', (message) => {
	expect(speaksOfMoney(message)).toBe(false);
	expect(isRateLimited(refused({ message, type: 'invalid_request_error' }))).toBe(true);
});

test.each([
	{ type: 'rate_limit_error' },
	{ code: 'rate_limit_exceeded' },
	{ type: 'request' },
	{ code: 'Throttling.RateQuota' },
	{ code: 'concurrency_limit' },
])('what is called %j is haste, whatever it says', (named) => {
	expect(is429ForQuota(refused({ message: 'Insufficient balance', ...named }))).toBe(false);
});

test.each([{ type: 'invalid_request_error' }, { code: 429 }, { type: null, code: {} }])(
	'what is called %j is judged by its message',
	(named) => {
		expect(is429ForQuota(refused({ message: 'Insufficient balance', ...named }))).toBe(true);
		expect(is429ForQuota(refused({ message: 'Too many requests', ...named }))).toBe(false);
	},
);

test('a budget that is exceeded is about money, whatever the message says', () => {
	expect(is429ForQuota(refused({ message: 'Cost: 5, limit: 5', type: 'budget_exceeded' }))).toBe(
		true,
	);
	expect(is429ForQuota(refused({ message: 'Cost: 5', type: 'throttling_error' }))).toBe(false);
});

test.each<[object, boolean]>([
	[{ error: { message: 'Too many requests', code: 'insufficient_quota' } }, true],
	[{ error: { message: 'Retry in 20 s', type: 'insufficient_quota' } }, true],
	[{ error: { message: 'x', type: 'rate_limit_error', code: 'insufficient_quota' } }, true],
	[{ code: 'insufficient_quota', message: 'Too many requests' }, true],
	[{ error: { message: 'Limit of 100 requests per day', code: 'rate_limit_exceeded' } }, false],
	[{ error: { message: 'insufficient_quota is not in this code', code: 429 } }, true],
	[{ code: 'rate_limit', error: { message: 'Insufficient balance' } }, false],
])('a 429 with %j is about money: %j', (body, isMoney) => {
	expect(is429ForQuota(response(429, body))).toBe(isMoney);
});

test.each<[number, object, boolean]>([
	[402, {}, true],
	[403, { message: 'Insufficient balance' }, true],
	[403, { message: 'no access to this model' }, false],
	[429, { message: 'Insufficient balance' }, true],
	[429, { message: 'Too many requests' }, false],
	[500, { message: 'Insufficient balance' }, false],
])('a %d with %j is out of quota: %j', (status, error, isOut) => {
	expect(isOutOfQuota(response(status, { error }) as HttpResponse)).toBe(isOut);
});

const XAI =
	'Your team 76d698e2 has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit.';

// As these gateways respond; a list arrives as the `data` of an object.
test.each<[number, string, object]>([
	[429, 'xAI', { code: 'Some resource has been exhausted', error: XAI }],
	[403, 'xAI', { code: 'The caller does not have permission', error: XAI }],
	[429, 'sub2api', { code: 'API_KEY_QUOTA_EXHAUSTED', message: 'API key 额度已用完' }],
	[429, 'sub2api', { code: 'USAGE_LIMIT_EXCEEDED', message: 'daily usage limit exceeded' }],
	[403, 'sub2api', { code: 'INSUFFICIENT_BALANCE', message: 'Insufficient account balance' }],
	[429, 'Gemini', { data: [{ error: { code: 429, message: 'Your prepayment credits are depleted. Please go to AI Studio at https://ai.studio/projects to manage your project and billing.', status: 'RESOURCE_EXHAUSTED' } }] }], // prettier-ignore
	[429, 'Gemini, without billing', { error: { code: 429, message: 'You exceeded your current quota, please check your plan and billing details. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0\nPlease retry in 37.363665079s.', status: 'RESOURCE_EXHAUSTED' } }], // prettier-ignore
	[429, 'OpenAI', { error: { message: 'Your account is not active, please check your billing details on our website.', type: 'billing_not_active' } }], // prettier-ignore
	[429, 'Moonshot', { error: { message: 'Your account is suspended', type: 'exceeded_current_quota_error' } }], // prettier-ignore
	[403, 'SiliconFlow', { code: 30001, message: 'Sorry, your account balance is insufficient' }],
	[403, 'fal', { detail: 'User is locked. Reason: Exhausted balance. Top up your balance.' }],
	[403, 'new-api', { code: 'quota_not_enough', message: 'user quota is not enough' }],
	[401, 'new-api', { error: { message: '该令牌额度已用尽', type: 'new_api_error', code: '' } }],
	[400, 'DashScope', { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' }], // prettier-ignore
	[403, 'Ark', { error: { code: 'AccountOverdueError', message: 'The request failed.' } }],
])('a %d without credit, of %s, is out of quota', (status, _, body) => {
	expect(isOutOfQuota(response(status, body) as HttpResponse)).toBe(true);
	expect(isRateLimited(response(status, body))).toBe(false);
});

test.each<[string, object]>([
	['SiliconFlow', { message: 'Request was rejected due to rate limiting. Details:TPM limit reached.', data: '' }], // prettier-ignore
	['Gemini', { error: { code: 429, message: `You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: https://ai.dev/rate-limit. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20, model: gemini-2.5-flash\nPlease retry in 58.8s.` } }], // prettier-ignore
	['Vertex', { error: { message: 'Quota exceeded for aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model with base model: claude. Please submit a quota increase request.' } }], // prettier-ignore
])('a 429 for the rate, of %s, is a rate limit', (_, body) => {
	expect(isRateLimited(response(429, body))).toBe(true);
});

test('nothing but the reason counts, and no other status', () => {
	const text = 'Insufficient balance';
	for (const outcome of [
		page(429, text),
		response(429, { error: { message: 'slow down', credits_remaining: 0, hint: text } }),
		response(429, { error: { message: { text } } }),
		response(400, { error: { message: text } }),
		response(503, { error: { message: text } }),
	]) {
		expect(is429ForQuota(outcome)).toBe(false);
	}
});
