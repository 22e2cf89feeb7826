/** Of invariant 4: what fails has a reason. */
import type { Played, Step } from '../execution/step.mjs';
import { isTool, MAKE } from '../execution/workflow.mjs';
import { passes } from '../plan/special/passing.mjs';
import { PRICE } from '../service/published-models.mjs';
import { pricesAreTrue } from './budgets.mjs';
import {
	callsOf,
	isFailed,
	isRetry,
	runsOf,
	shownBy,
	type Breach,
	type NodeRun,
} from './evidence.mjs';

/** A task that was submitted less than this ago may only not be visible yet. */
const YOUNG_SECONDS = 25;

export function waiting(played: Played): Breach[] {
	return played.steps.flatMap((step, index) => {
		if (step.ended !== 'done') return [];
		const runs = runsOf(step, played.steps[index - 1]);
		return [...withoutReason(played, step, runs), ...neverAgain(played, step)];
	});
}

/** Where nothing goes wrong, or only what passes, everything succeeds. */
function withoutReason(played: Played, step: Step, runs: NodeRun[]): Breach[] {
	const { world } = played;
	const { service, checks } = world;
	const { result, number, flow } = step;
	const { timeout, budget, requestsPerSecond } = flow.options;
	const calm =
		// Where the second call of a tool has failed, n8n's retry of it has no input for `$fromAI`.
		!(flow.as === 'engineTool' && isRetry(step)) &&
		!checks.includes('stop') &&
		passes(world) &&
		service.failPercent === 0 &&
		flow.trouble === 'none' &&
		flow.maxWait === 600 &&
		service.lateSeconds < YOUNG_SECONDS &&
		service.taskSeconds[1] < flow.maxWait &&
		(timeout === undefined || Number(timeout) >= 30) &&
		(budget === undefined || (budget === 100 && PRICE.has(flow.model) && pricesAreTrue(service))) &&
		// Who sets a higher rate than the gateway's is refused again and again.
		(!requestsPerSecond || (requestsPerSecond === 20 && service.perSecond === 0));
	if (!calm || result === undefined) return [];
	const failed = runs.flatMap(({ outputs }) => outputs.flat().filter(isFailed));
	const isCalm = service.faults.length === 0;
	const answer = isCalm ? callsOf(step).find((call) => call.failed)?.answer : undefined;
	const said = result.error?.message ?? failed[0]?.json.error ?? answer;
	if (result.status === 'success' && said === undefined) return [];
	return [
		{
			invariant: 4,
			text: `action ${number} failed, but nothing was wrong for long: ${String(said)}`,
		},
	];
}

/** A person who retries has looked, and decided: what had an unknown outcome is sent again. */
function neverAgain(played: Played, step: Step): Breach[] {
	const { service } = played;
	if (!isRetry(step) || isTool(step.flow)) return [];
	const last = step.result?.data.resultData.lastNodeExecuted;
	if (last !== MAKE || step.result?.status !== 'error') return [];
	const sent = service.books.requests.some(
		({ step: of, call }) => of === step.number && ['submit', 'sync', 'message'].includes(call),
	);
	if (sent || !/\bthe outcome is unknown/i.test(shownBy(step))) return [];
	return [{ invariant: 1, text: `action ${step.number}: what was asked for again wasn't sent` }];
}
