const { AsyncLocalStorage } = require('node:async_hooks');
const { readFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { dirname, join, sep } = require('node:path');
const { compileFunction } = require('node:vm');
const jestExpect = require('@jest/expect');
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/**
 * Runs the test files of a worker in the worker's own realm, not in one of their own, so that n8n and
 * other packages are loaded once for all of them and not for each (test/runtime.cjs). What belongs to
 * a file is still its own: the sources and helpers that jest loads, the built package, its spies, and
 * whatever it changes of the globals, the environment variables and the listeners of the process. A
 * file that replaces a module within n8n has `@jest-environment node` at its top: there jest loads
 * everything.
 */
module.exports = class {
	isSharedRealm = true;
	global = globalThis;
	jestExpect = jestExpect;
	compiledOnce = compiledOnce;
	moduleMocker = new ModuleMocker(globalThis);
	fakeTimers = null;

	constructor({ projectConfig }) {
		this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
		this.before = stateOfProcess();
		forgetExpect();
	}

	/**
	 * Whether a file is loaded into the process: a package, which then stays there, or a built file of
	 * this package, which goes after the test file.
	 */
	isOfProcess(path) {
		return isInstalled(path) || path.startsWith(BUILT);
	}

	requireOfProcess(path) {
		const loaded = requireHere.cache[path];
		if (loaded?.loaded) return loaded.exports;
		const before = stateOfProcess();
		try {
			return requireHere(path);
		} finally {
			this.#keepWhatIsNewSince(before);
		}
	}

	/** What a package adds while it is loaded it may need in later test files. */
	#keepWhatIsNewSince(before) {
		const now = stateOfProcess();
		for (const object of now.properties.keys()) {
			const earlier = before.properties.get(object);
			for (const [name, property] of now.properties.get(object)) {
				if (!earlier.has(name)) this.before.properties.get(object).set(name, property);
			}
		}
		for (const [name, listeners] of now.listeners) {
			const isNew = (one) => !before.listeners.get(name)?.includes(one);
			const kept = this.before.listeners.get(name) ?? [];
			this.before.listeners.set(name, [...kept, ...listeners.filter(isNew)]);
		}
	}

	async setup() {}

	async teardown() {
		this.fakeTimersModern.dispose();
		this.moduleMocker.restoreAllMocks();
		for (const [object, properties] of this.before.properties) restore(object, properties);
		for (const name of process.eventNames()) {
			const earlier = this.before.listeners.get(name) ?? [];
			for (const listener of process.rawListeners(name)) {
				if (!earlier.includes(listener)) process.removeListener(name, listener);
			}
		}
		unloadFiles();
		switchStoragesOff();
	}

	exportConditions() {
		return ['node', 'node-addons'];
	}

	/** Jest wants a context of its own; test/runtime.cjs does without. */
	getVmContext() {
		return null;
	}
};

const requireHere = createRequire(__filename);
const BUILT = join(__dirname, '..', 'dist') + sep;
const isInstalled = (path) => path.includes(`${sep}node_modules${sep}`);

/** What a test file may change. */
function stateOfProcess() {
	const objects = [globalThis, process, process.env, Error];
	return {
		properties: new Map(objects.map((object) => [object, propertiesOf(object)])),
		listeners: new Map(process.eventNames().map((name) => [name, process.rawListeners(name)])),
	};
}

function propertiesOf(object) {
	const descriptors = Object.getOwnPropertyDescriptors(object);
	return new Map(Reflect.ownKeys(descriptors).map((name) => [name, descriptors[name]]));
}

function restore(object, properties) {
	const now = propertiesOf(object);
	for (const [name, { configurable }] of now) {
		if (configurable && !properties.has(name)) delete object[name];
	}
	for (const [name, property] of properties) {
		const { configurable, value, get, set } = now.get(name) ?? { configurable: true };
		if (!configurable) continue;
		const isSame = value === property.value && get === property.get && set === property.set;
		if (!isSame) Object.defineProperty(object, name, property);
	}
}

/** Forgets what was loaded that is no installed package: the next test file has its own. */
function unloadFiles() {
	for (const [path, module] of Object.entries(requireHere.cache)) {
		if (isInstalled(path) || path.startsWith(__dirname + sep)) continue;
		delete requireHere.cache[path];
		const siblings = module?.parent?.children ?? [];
		if (siblings.includes(module)) siblings.splice(siblings.indexOf(module), 1);
	}
}

/**
 * What is made of a source is the same function for all test files of a worker. Each calls it, so that
 * its modules are new, but what V8 has learned about the code stays.
 */
const compiled = new Map();
function compiledOnce(source, parameters, filename) {
	const known = compiled.get(filename);
	if (known?.source === source) return known.run;
	const run = compileFunction(source, parameters, { filename });
	compiled.set(filename, { source, run });
	return run;
}

const loadScript = requireHere.extensions['.js'];
requireHere.extensions['.js'] = (module, path) => {
	if (!path.startsWith(BUILT)) return loadScript(module, path);
	const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];
	const run = compiledOnce(readFileSync(path, 'utf8'), parameters, path);
	run(module.exports, (name) => module.require(name), module, path, dirname(path));
};

/** What jest's `expect`, which is loaded once, keeps of a file. */
const ofExpect = globalThis[Symbol.for('$$jest-matchers-object')];
const builtIn = { ...ofExpect.matchers };
function forgetExpect() {
	ofExpect.customEqualityTesters = [];
	ofExpect.matchers = { ...builtIn };
	ofExpect.state = {
		assertionCalls: 0,
		expectedAssertionsNumber: null,
		isExpectingAssertions: false,
		numPassingAsserts: 0,
		suppressedErrors: [],
	};
}

/**
 * A worker whose work and timers are over ends at once. To give back n8n's heap page by page first takes a
 * third of a second of processor time, and jest, which ends all workers at the same time, waits for half a
 * second. What a test has left open still keeps the worker, so jest still reports it.
 */
if (process.channel) process.once('beforeExit', () => process.exit());

/**
 * Up to Node.js 22, every storage that was ever used makes every promise slower until it is switched
 * off. Jest has one for each test file and leaves it on.
 */
const usedStorages = new Set();
for (const method of ['run', 'enterWith']) {
	const original = AsyncLocalStorage.prototype[method];
	AsyncLocalStorage.prototype[method] = function (...args) {
		usedStorages.add(this);
		return original.apply(this, args);
	};
}

function switchStoragesOff() {
	for (const storage of usedStorages) storage.disable();
	usedStorages.clear();
}
