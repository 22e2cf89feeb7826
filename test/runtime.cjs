const { compileFunction } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

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
		const { executor } = this;
		executor.compile = (source, filename) =>
			compileFunction(source, executor.injectedModuleParameters, { filename });
	}

	requireModule(from, moduleName, options, isRequireActual) {
		if (this.#environment !== undefined && !options?.isInternalModule) {
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
