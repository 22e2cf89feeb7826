const { default: Sequencer } = require('@jest/test-sequencer');

/** Whoever waits for the first red test has it soonest. */
module.exports = class extends Sequencer {
	sort(tests) {
		return super.sort(tests).reverse();
	}
};
