const { appendFileSync } = require('node:fs');
const Environment = require('../test/environment.cjs');

/** The environment of the tests with one mutant; without one, it notes which mutants a file reaches. */
module.exports = class extends Environment {
	#reached = new Set();
	#testPath;

	constructor(config, context) {
		super(config, context);
		this.#testPath = context.testPath;
		const wanted = Number(process.env.MUTANT);
		this.global.mutant = (number) => {
			this.#reached.add(number);
			return number === wanted;
		};
	}

	/** The first red test tells enough. */
	handleTestEvent({ name, test }) {
		if (name === 'test_done' && test.errors.length > 0 && process.env.MUTANT) process.exit(1);
	}

	async teardown() {
		const notes = process.env.MUTANTS_REACHED;
		if (notes) appendFileSync(notes, `${JSON.stringify([this.#testPath, [...this.#reached]])}\n`);
		await super.teardown();
	}
};
