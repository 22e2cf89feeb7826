const { default: Sequencer } = require('@jest/test-sequencer');

const near = (process.env.MUTANT_NEAR ?? '').split(' ');
const isNear = ({ path }) => near.some((folder) => path.includes(`/${folder}/`));

/** Whoever waits for the first red test has it soonest: first the tests that are about the source. */
module.exports = class extends Sequencer {
	sort(tests) {
		const shortest = super.sort(tests).reverse();
		return [...shortest.filter(isNear), ...shortest.filter((test) => !isNear(test))];
	}
};
