/** Of invariant 3: how files are called, where a user has chosen it. */
import type { Played, Step } from '../../execution/step.mjs';
import { dayOf } from '../../time/calendar.mjs';
import { isFailed, type Item, type NodeRun } from '../evidence.mjs';

/** Which files of a run are not called as the option says, or as another one. */
export function fileNames({ world }: Played, { outputs }: NodeRun, step: Step): string[] {
	const { fileName: template } = step.flow.options;
	if (template === undefined) return step.parks > 0 ? [] : twiceInItem(outputs.flat());
	const [first, last] = [step.startedAt, step.endedAt].map((at) => dayOf(world.begins, at));
	const seen = new Set<string>();
	const good = outputs.flat().filter((item) => !isFailed(item));
	return good.flatMap((item) =>
		Object.values(item.binary ?? {}).flatMap(({ fileName }, place): string[] => {
			const name = String(fileName);
			if (seen.has(name)) return [`two files are called ${name}`];
			seen.add(name);
			const stem = stemOf(String(template), item, place, step.parks > 0);
			// Of two with one name, one gets a number.
			const found = new RegExp(`^${stem}(-\\d+)?\\.png$`, 'u').exec(name);
			const day = found?.groups?.day ?? first;
			if (found !== null && day! >= first! && day! <= last!) return [];
			return [`a file is called ${name} by ${String(template)}`];
		}),
	);
}

/** Of one item, no two files have one name. */
function twiceInItem(items: Item[]): string[] {
	const names = items.flatMap(({ binary, pairedItem }) =>
		Object.values(binary ?? {}).map(({ fileName }) => `${JSON.stringify(pairedItem)}: ${fileName}`),
	);
	const twice = names.find((name, place) => names.indexOf(name) !== place);
	return twice === undefined ? [] : [`two files of the item ${twice}`];
}

/** How the file of an image begins, as a pattern. @param parked whether nobody knows its item any more */
function stemOf(template: string, { json, pairedItem }: Item, place: number, parked: boolean) {
	const { prompt = '', index, model, taskId } = json;
	switch (template) {
		case '{date}-{item:3}-{prompt}': {
			const { item } = pairedItem as { item: number };
			const number = parked ? '\\d{3}' : String(item + 1).padStart(3, '0');
			const words = String(prompt).match(/[\p{L}\p{N}]+/gu) ?? [];
			return ['(?<day>\\d{4}-\\d\\d-\\d\\d)', number, ...words].join('-');
		}
		case '{index}':
			// Image Task gives one item for all images of a task.
			return String((json.images === undefined ? Number(index) : place) + 1);
		case '../{model}/{taskId}': {
			const isPlain = taskId === undefined || /^[\w-]+$/.test(String(taskId));
			return isPlain ? [model ?? [], taskId ?? []].flat().join('-') || '.*' : '.*';
		}
		default:
			return 'what';
	}
}
