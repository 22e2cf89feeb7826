/** @type {import('jest').Config} */
module.exports = {
	// `--findRelatedTests` sees a change of nothing but what stands in these. Tests against a real n8n
	// server (test/n8n) take minutes and servers of their own: they have their own command.
	roots: 'bench credentials demo gateway harness nodes scripts simulator test util'
		.split(' ')
		.map((folder) => `<rootDir>/${folder}`),
	testMatch: ['**/*.test.mts'],
	testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/n8n/'],
	globalSetup: '<rootDir>/test/global-setup.mjs',
	setupFiles: ['<rootDir>/test/seeds.cjs'],
	testEnvironment: '<rootDir>/test/environment.cjs',
	runtime: '<rootDir>/test/runtime.cjs',
	// On a busy machine the seconds of the default are over before an image is drawn.
	testTimeout: 60_000,
	// Tests on the engine wait for a third of their time. Each worker loads n8n, so no more than two are
	// begun beyond one for each core.
	maxWorkers: require('node:os').availableParallelism() + 2,
	testSequencer: '<rootDir>/test/sequencer.cjs',
	// `npm test` gives workers a larger young generation: most garbage of a test is collected at once.
	// A new worker has to load n8n again. What files leave behind is a few megabytes each; the rest of a
	// large heap is garbage that was not worth collecting yet.
	workerIdleMemoryLimit: '1200MB',
	moduleFileExtensions: ['mts', 'ts', 'mjs', 'js', 'cjs', 'json', 'node'],
	resolver: '<rootDir>/test/resolver.cjs',
	transform: {
		'^.+\\.m?ts$': [
			'@swc/jest',
			{
				jsc: { target: 'es2022', parser: { syntax: 'typescript', decorators: true } },
				module: { type: 'commonjs' },
				sourceMaps: 'inline',
			},
		],
	},
};
