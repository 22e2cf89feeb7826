const { appendFileSync, writeSync } = require('node:fs');
const { relative } = require('node:path');
const Environment = require('../test/environment.cjs');

/** The environment of the tests with one mutant; without one, it notes which mutants a file reaches. */
module.exports = class extends Environment {
	#reached = new Set();
	#testPath;

	constructor(config, context) {
		super(config, context);
		this.#testPath = context.testPath;
		// A busy machine makes tests red too: red is what is so twice.
		this.global[Symbol.for('RETRY_TIMES')] = 1;
		this.global[Symbol.for('RETRY_IMMEDIATELY')] = true;
		const wanted = Number(process.env.MUTANT);
		this.global.mutant = (number) => {
			this.#reached.add(number);
			return number === wanted;
		};
	}

	/** The first red test tells enough; the file is named as jest would. */
	handleTestEvent({ name, test }) {
		const isRed = name === 'test_done' && test.errors.length > 0 && test.invocations > 1;
		if (!isRed || !process.env.MUTANT) return;
		writeSync(2, `FAIL ${relative(process.cwd(), this.#testPath)}\n`);
		process.exit(1);
	}

	async teardown() {
		const notes = process.env.MUTANTS_REACHED;
		if (notes) appendFileSync(notes, `${JSON.stringify([this.#testPath, [...this.#reached]])}\n`);
		await super.teardown();
	}
};
