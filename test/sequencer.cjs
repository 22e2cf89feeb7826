const { default: Sequencer } = require('@jest/test-sequencer');

/** What takes longest begins first: where nothing has been measured, jest goes by the size of files. */
const LONG = /[\\/](world|gateways|faults|money|linear-readers|known-model|redos)\.test\.mts$/;

/** Tests on the engine wait at times: at the end, nothing else would use the processor meanwhile. */
const WAITING = /[\\/]engine[\\/]/;

const rank = ({ path }) => (LONG.test(path) ? 0 : WAITING.test(path) ? 1 : 2);

module.exports = class extends Sequencer {
	sort(tests) {
		return [...super.sort(tests)].sort((one, other) => rank(one) - rank(other));
	}
};
