/** Responses to submits in any envelope, for properties. */
import fc from 'fast-check';

export interface Nested extends Partial<Record<'status' | 'error' | 'code', unknown>> {
	id: boolean;
	task_id: boolean;
	image: boolean;
	name: string;
	inner?: Nested;
	isList: boolean;
}

/** Any nesting of the objects and lists that are around tasks and images. */
export const nested: fc.Arbitrary<Nested> = fc.letrec<{ inner: Nested }>((tie) => ({
	inner: fc.record(
		{
			id: fc.boolean(),
			task_id: fc.boolean(),
			image: fc.boolean(),
			name: fc.constantFrom('data', 'task', 'result', 'output', 'response', 'task_result'),
			isList: fc.boolean(),
			status: fc.constantFrom<unknown>('queued', 'failed', 'completed', 'shiny', 200, '', null),
			error: fc.constantFrom<unknown>(null, { message: 'no' }),
			code: fc.constantFrom<unknown>(0, 200, 402, 'success', 'FAIL'),
			inner: fc.oneof({ maxDepth: 5 }, fc.constant(undefined), tie('inner')),
		},
		{ requiredKeys: ['id', 'task_id', 'image', 'name', 'isList'] },
	),
})).inner;

/** The response, with different IDs, which are added to `ids`. In a list, an `id` alone is an image's. */
export function built(
	{ id, task_id, image, name, inner, isList, ...plain }: Nested,
	ids: string[],
	url: string,
): Record<string, unknown> {
	const own: Record<string, unknown> = { ...plain };
	const named = [id ? 'id' : [], task_id ? 'task_id' : []].flat();
	for (const key of named) ids.push((own[key] = `${key}-${ids.length}`) as string);
	if (image) own.images = [{ id: 'i1', url }];
	if (inner === undefined) return own;
	const child = built(isList ? { ...inner, task_id: true } : inner, ids, url);
	return { ...own, [name]: isList ? [child] : child };
}
