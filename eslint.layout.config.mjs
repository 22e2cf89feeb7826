/**
 * n8n's rules, and ours: who may import whom, and how long a function may be. Strict mode wants
 * eslint.config.mjs as n8n has it, so `npm run lint` runs this one after it. Between the rooms of `gateway/`
 * and of `nodes/shared/`, the drawing in docs/architecture.md decides: test/unit/repository/layout.test.mts.
 */
import { config } from '@n8n/node-cli/eslint';
import { readdirSync } from 'node:fs';

const find = (has) => config.find((one) => has(one) !== undefined);
const { parser } = find(({ languageOptions }) => languageOptions?.parser).languageOptions;
const { 'import-x': importX } = find(({ plugins }) => plugins?.['import-x']).plugins;
const { settings } = find((one) => one.settings?.['import-x/resolver-next']);

/** What others may use of `gateway/`. */
const DOORS = ['./index.ts', './messages/index.ts', './models/index.ts'];
/** What each folder may import, besides packages. */
const FOLDERS = {
	util: ['util'],
	gateway: ['gateway', 'util'],
	credentials: ['credentials', 'gateway', 'util'],
	nodes: ['gateway', 'nodes', 'util'],
	simulator: ['simulator'],
	harness: ['harness', 'simulator'],
	demo: ['demo', 'gateway', 'harness', 'simulator'],
	bench: ['bench', 'harness', 'simulator'],
	scripts: ['demo', 'harness', 'scripts', 'simulator'],
};
const NODES = readdirSync('nodes').filter((name) => name !== 'shared');

const within = (target, from, except) => ({ target: `./${target}`, from: `./${from}`, except });
const zones = [
	...Object.entries(FOLDERS).map(([folder, allowed]) =>
		within(
			folder,
			'',
			['node_modules', ...allowed].map((one) => `./${one}`),
		),
	),
	...NODES.map((name) => within(`nodes/${name}`, 'nodes', [`./${name}`, './shared'])),
	...['nodes', 'credentials'].map((folder) => within(folder, 'gateway', DOORS)),
];

const PACKAGE = ['gateway', 'nodes', 'credentials', 'util'].map((folder) => `${folder}/**/*.ts`);
const named = (names, message) => [
	'error',
	{ selector: `Identifier[name=/^(${names})$/]`, message },
];

export default [
	...config,
	{
		files: ['**/*.ts', '**/*.mts'],
		ignores: ['**/*.test.mts'],
		languageOptions: { parser },
		plugins: { 'import-x': importX },
		settings,
		rules: { 'import-x/no-restricted-paths': ['error', { zones }] },
	},
	{ files: PACKAGE, rules: { 'max-lines-per-function': ['error', 50] } },
	{
		files: PACKAGE,
		ignores: ['gateway/pace/client.ts', 'gateway/pay.ts'],
		rules: {
			'no-restricted-syntax': named('requestPaid', '`pay` alone sends what is paid.'),
		},
	},
	{
		files: ['nodes/**/*.ts', 'credentials/**/*.ts'],
		rules: {
			'no-restricted-syntax': named(
				'requestPaid|sendOnce|UNRECORDED',
				'Nodes send what is paid with `pay` and their journal.',
			),
		},
	},
];
