/**
 * Of invariants 1 and 4: a failed item that comes back to the node that has sent it brings its payment with
 * it, and is sent again only where nothing was charged, or its task has failed.
 */
import type { Played, Step } from '../execution/step.mjs';
import { MAKE } from '../execution/workflow.mjs';
import type { Received } from '../service/books.mjs';
import {
	broughtBy,
	isFailed,
	runsOf,
	type Breach,
	type Brought,
	type NodeRun,
} from './evidence.mjs';
import { pathOf, pictureIn } from './items/held-images.mjs';

export function broughtBack(played: Played): Breach[] {
	return played.steps.flatMap((step, index) => {
		if (step.flow.as !== 'back' || step.ended !== 'done') return [];
		const all = runsOf(step, played.steps[index - 1]);
		const runs = all.filter(({ node }) => node === MAKE);
		return runs.flatMap((run) => [
			...ofPayments(played, step, run, all),
			...(mayBeSent(played, step) ? ofUnpaid(played, run) : []),
		]);
	});
}

const isTaskFailed = ({ status }: Brought): boolean =>
	/^\s*(failed|cancelled)\s*$/i.test(String(status));

/** The failed task of an unknown outcome may be that of an earlier request: it stays unknown. */
const brings = (brought: Brought): boolean =>
	brought.charged !== 'no' && (brought.outcome === 'unknown' || !isTaskFailed(brought));

/** What was brought is what the item is about, and is asked for. */
function ofPayments({ service }: Played, { flow }: Step, run: NodeRun, all: NodeRun[]): Breach[] {
	const { input, outputs } = run;
	const { requests, pictures, charges } = service.books;
	const own = requests.filter(({ at }) => at >= run.from);
	return input.flatMap((item, place): Breach[] => {
		const brought = broughtBy(item);
		if (brought === undefined || !brings(brought)) return [];
		const { taskId, url, outcome } = brought;
		const where = `${MAKE}, run ${run.run}, item ${place}`;
		const breaches: Breach[] = [];
		const isUnknown = outcome === 'unknown' || (taskId ?? url) === undefined;
		const charge =
			taskId === undefined
				? pictures.get(pathOf(String(url)))?.charge
				: charges.find((one) => one.taskId === taskId);
		for (const { json, ...rest } of outputs.flat()) {
			const { pairedItem } = rest;
			if (typeof pairedItem !== 'object' || Array.isArray(pairedItem)) continue;
			if (pairedItem.item !== place) continue;
			const failed = isFailed({ json }) ? broughtBy({ json }) : undefined;
			const picture = pictures.get(pictureIn({ json, ...rest }) ?? '')?.charge;
			const isOther =
				failed === undefined
					? isUnknown || (picture?.taskId ?? json.taskId) !== charge?.taskId
					: failed.taskId !== taskId || failed.charged === 'no';
			const text = `${where}: it brought ${nameOf(brought)}, and is about ${nameOf(failed ?? json)}`;
			if (isOther) breaches.push({ invariant: 1, text });
		}
		// With a setting that cannot work, nothing can be asked for.
		if (isUnknown || flow.trouble !== 'none') return breaches;
		const isPolled = own.some(({ call, taskId: id }) => call === 'poll' && id === taskId);
		const isAsked = isPolled || isHeldBack(all, run.from, String(taskId), own);
		if (taskId !== undefined && url === undefined && !isAsked) {
			breaches.push({ invariant: 4, text: `${where}: ${nameOf(brought)} wasn't waited for` });
		}
		const paths = charge?.images.map(pathOf) ?? [];
		const isLoaded = own.some(
			({ call, path }) => call === 'download' && paths.includes(pathOf(path)),
		);
		if (url !== undefined && flow.download && !isLoaded) {
			breaches.push({ invariant: 4, text: `${where}: ${nameOf(brought)} wasn't downloaded` });
		}
		return breaches;
	});
}

/**
 * Whether its turn never came, and an item says so. While the gateway refuses requests for their rate, or
 * answers none, one at a time tries, which may outlive a run: Max Wait may be over before the others are asked
 * about. More checks would only prolong the limit, and the first one that is accepted lets all go on.
 */
function isHeldBack(all: NodeRun[], from: number, taskId: string, own: Received[]): boolean {
	const isRefused = own.some(
		({ status, fate }) => status === 429 || fate.includes('nothing was answered'),
	);
	const failed = all.filter((run) => run.to >= from).flatMap(({ outputs }) => outputs.flat());
	return (
		isRefused &&
		failed.some(
			({ json }) =>
				broughtBy({ json })?.taskId === taskId &&
				/couldn't be checked within/.test(String(json.error)),
		)
	);
}

const nameOf = ({ taskId, url, outcome, charged }: Brought): string =>
	JSON.stringify({ taskId, url, outcome, charged });

const PAID: Array<Received['call']> = ['submit', 'sync'];

/** Whether nothing but the gateway says no. */
function mayBeSent({ world: { service } }: Played, { flow }: Step): boolean {
	const { options, trouble, make, editFrom } = flow;
	return (
		trouble === 'none' &&
		options.budget === undefined &&
		(make !== 'edit' || editFrom === 'binary') &&
		service.faults.every(({ call }) => call !== 'listing' && call !== 'any')
	);
}

/** What wasn't charged is sent again, also where its task has failed. */
function ofUnpaid({ service }: Played, { input, from, to, run }: NodeRun): Breach[] {
	const own = service.books.requests.filter(
		({ call, at }) => PAID.includes(call) && at >= from && at <= to,
	);
	return input.flatMap((item, place): Breach[] => {
		const brought = broughtBy(item);
		if (brought === undefined || brings(brought)) return [];
		if (own.some(({ prompt }) => prompt === item.json.prompt)) return [];
		const text = `${MAKE}, run ${run}, item ${place}: it brought ${nameOf(brought)}, and wasn't sent`;
		return [{ invariant: 4, text }];
	});
}
