const asyncHooks = require('node:async_hooks');
const { default: Runtime } = require('jest-runtime');

/**
 * Jest's `AsyncLocalStorage` of the test that is running. Node.js up to 22 calls its hooks at every
 * promise while one is in use, a fifth of the time of a test that awaits much. The tests of a file run
 * one after the other (none is `test.concurrent`), so it is enough to remember the last one that began.
 */
class StorageOfOneAtATime {
	#store;

	getStore() {
		return this.#store;
	}

	run(store, callback, ...args) {
		const before = this.#store;
		const restore = () => {
			this.#store = before;
		};
		this.#store = store;
		let result;
		try {
			result = callback(...args);
		} catch (error) {
			restore();
			throw error;
		}
		if (typeof result?.finally === 'function') return result.finally(restore);
		restore();
		return result;
	}
}

const asyncHooksOfJest = { ...asyncHooks, AsyncLocalStorage: StorageOfOneAtATime };

/**
 * Jest's loader of modules. Where the environment of the tests is test/environment.cjs, installed
 * packages and the built package are loaded by Node.js itself, so a mock of theirs reaches only what
 * jest loads: sources and tests.
 */
module.exports = class extends Runtime {
	#environment;

	constructor(config, environment, ...others) {
		super(config, environment, ...others);
		if (!environment.isSharedRealm) return;
		this.#environment = environment;
		const { injectedModuleParameters } = this.executor;
		this.executor.compile = (source, filename) =>
			environment.compiledOnce(source, injectedModuleParameters, filename);
	}

	requireModule(from, moduleName, options, isRequireActual) {
		if (this.#environment !== undefined && options?.isInternalModule) {
			if (moduleName === 'node:async_hooks') return asyncHooksOfJest;
			if (moduleName === '@jest/expect') return this.#environment.jestExpect;
		} else if (this.#environment !== undefined) {
			const path = this.#pathOf(from, moduleName);
			if (path !== undefined && this.#environment.isOfProcess(path)) {
				return this.#environment.requireOfProcess(path);
			}
		}
		return super.requireModule(from, moduleName, options, isRequireActual);
	}

	#pathOf(from, moduleName) {
		if (moduleName === undefined) return from;
		if (this._resolution.isCoreModule(moduleName)) return undefined;
		return this._resolution.resolveCjs(from, moduleName);
	}
};
