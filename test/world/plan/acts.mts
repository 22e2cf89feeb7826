/** What follows the first run of a world. */
import fc from 'fast-check';
import type { Act } from './world.mjs';

/** What a user does once an execution has failed. */
export const retry: fc.Arbitrary<Act> = fc.record<Act>({
	kind: fc.constantFrom('retry', 'retryEdited'),
	edit: fc.constantFrom('prompt', 'account', 'kind', 'model', 'file'),
	stopAfter: fc.constant(undefined),
	crashAfter: fc.constant(undefined),
});

/** Another execution of the same workflow. */
export const next: fc.Arbitrary<Act> = fc.record<Act>({
	kind: fc.constant('next'),
	pause: fc.constantFrom(0, 1, 60, 86_400),
	edit: fc.constant('prompt'),
	stopAfter: fc.constant(undefined),
	crashAfter: fc.constant(undefined),
});
