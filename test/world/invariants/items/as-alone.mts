/** Of all invariants: of two accounts at once, neither notices anything of the other. */
import type { Played } from '../../execution/step.mjs';
import { textOf } from '../../execution/text-of.mjs';
import type { Breach } from '../evidence.mjs';

/** What an execution has done and brought beside another one is what it does and brings alone. */
export function asAlone(played: Played): Breach[] {
	const { alone } = played;
	if (alone === undefined) return [];
	const expected = tracesOf(alone);
	const found = tracesOf(played);
	const place = found.findIndex((trace, index) => trace !== expected[index]);
	if (place < 0 && found.length === expected.length) return [];
	const [was, is] = [expected, found].map((traces) => traces.at(place) ?? 'nothing');
	return [{ invariant: 1, text: `beside another account: ${is}; alone: ${was}` }];
}

/** Each request, and how it ended. Each gateway has a number of its own, also where its name is cut. */
function tracesOf({ steps, service }: Played): string[] {
	const requests = service.books.requests.map(
		({ at, call, host, path, prompt = '', status, fate }) =>
			`at ${new Date(at).toISOString()} ${call} ${host}${path} "${prompt}": ${fate} (${status})`,
	);
	const ends = steps.map(({ ended, endedAt, result }) => {
		const outputs = Object.values(result?.runData ?? {}).flatMap((tasks) =>
			tasks.map(({ data, error }) => textOf([data?.main, error?.message])),
		);
		return `${ended} at ${new Date(endedAt).toISOString()}, ${result?.status}: ${outputs.join('\n')}`;
	});
	return [...requests, ...ends].map((trace) => trace.replace(/(?<=gateway-)\d+/g, ''));
}
