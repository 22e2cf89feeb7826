const base = require('../../jest.config.cjs');

/**
 * Tests against real n8n servers: `jest -c test/n8n/jest.config.cjs`. One file after another, as
 * each starts a server of 700 MB.
 * @type {import('jest').Config}
 */
module.exports = {
	...base,
	rootDir: '../..',
	roots: ['<rootDir>/test/n8n'],
	testPathIgnorePatterns: ['/node_modules/'],
	testEnvironment: 'node',
	setupFilesAfterEnv: ['<rootDir>/test/n8n/retry.cjs'],
	maxWorkers: 1,
	testTimeout: 300_000,
};
