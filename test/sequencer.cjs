const { readFileSync } = require('node:fs');
const { default: Sequencer } = require('@jest/test-sequencer');

/** What takes longest begins first: where nothing has been measured, jest goes by the size of files. */
const LONG = /[\\/](world|gateways|faults|money|hostile-bytes|known-model)\.test\.mts$/;

/** Then come those that wait for the pauses of nodes; at the end nobody would use the processor. */
const WAITING = "import '../fast-time.mjs';";

module.exports = class extends Sequencer {
	sort(tests) {
		const rank = ({ path }) =>
			LONG.test(path) ? 0 : readFileSync(path, 'utf8').includes(WAITING) ? 1 : 2;
		const ranks = new Map(tests.map((test) => [test, rank(test)]));
		return [...super.sort(tests)].sort((one, other) => ranks.get(one) - ranks.get(other));
	}
};
