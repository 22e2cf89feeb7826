/** Which tests hold what a file promises: docs/testing.md has the same as a table. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The folders of `test/engine/` that run a source. Engine tests load the built package, so their imports
 * don't tell. The longest beginning of a path counts; a source without one is held by all of them.
 */
const ENGINE_TESTS: Record<string, string> = {
	'gateway/errors/': 'faults',
	'gateway/messages/': 'messages',
	'gateway/models/': 'models',
	'gateway/pace/': 'requests run faults',
	'gateway/responses/': 'gateways images faults money',
	'gateway/wait/': 'tasks suspend faults',
	'gateway/wire/': 'requests images faults foreign',
	'credentials/': 'requests gateways',
	'nodes/ImageEdit/': 'images models',
	'nodes/ImageGeneration/': 'images models',
	'nodes/ImageTask/': 'tasks',
	'nodes/ImageWait/': 'tasks suspend',
	'nodes/LmChatMediaGateway/': 'messages',
	'nodes/MediaModels/': 'models',
	'nodes/Message/': 'messages money',
	'nodes/shared/create/': 'money images run',
	'nodes/shared/errors/': 'faults run money',
	'nodes/shared/fields/': 'run models',
	'nodes/shared/images/': 'images requests',
	'nodes/shared/models/': 'models money',
	'nodes/shared/parameters/': 'run models',
	'nodes/shared/payments/': 'money suspend messages',
	'nodes/shared/run/': 'run money faults',
	'nodes/shared/suspend/': 'suspend',
	'nodes/shared/tasks/': 'tasks suspend',
	'nodes/shared/transport/': 'requests gateways',
};

const IS_SOURCE = /^(?:gateway|nodes|credentials|util)\/.*\.ts$/;
/** What jest finds the tests of, if it stands in the `roots` of its configuration. */
const IS_MODULE = /\.(?:ts|mts|mjs|cjs)$/;

/** @returns the engine tests of a source, as folders of `test/engine/`; undefined for all of them */
export function engineTestsOf(source: string): string[] | undefined {
	const starts = Object.keys(ENGINE_TESTS).filter((start) => source.startsWith(start));
	return ENGINE_TESTS[starts.sort((one, other) => other.length - one.length)[0] ?? '']?.split(' ');
}

const testFilesIn = (root: string, folder: string): string[] =>
	readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
		.filter((file) => file.endsWith('.test.mts'))
		.map((file) => join(folder, file));

/**
 * @param changed paths in the repository
 * @returns folders with tests to run, and the files for `jest --findRelatedTests`
 */
export function testsOf(
	changed: string[] | 'all',
	root: string,
): { folders: string[]; sources: string[] } {
	// What holds of the repository as a whole takes seconds.
	const folders = new Set(['test/unit/repository']);
	const sources = new Set<string>();
	if (changed === 'all') for (const folder of ['test/unit', 'test/engine']) folders.add(folder);
	for (const file of changed === 'all' ? [] : changed) {
		if (IS_SOURCE.test(file)) {
			const engine = engineTestsOf(file)?.map((name) => `test/engine/${name}`);
			for (const folder of engine ?? ['test/engine']) folders.add(folder);
		}
		if (IS_MODULE.test(file)) sources.add(file);
	}
	for (const folder of folders) for (const file of testFilesIn(root, folder)) sources.add(file);
	// Of a file that is gone, its folder tells.
	const present = [...sources].filter((file) => existsSync(join(root, file)));
	return { folders: [...folders].sort(), sources: present };
}
