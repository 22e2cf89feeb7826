const { default: Sequencer } = require('@jest/test-sequencer');

/** Whatever takes longest begins first. Where nothing has been measured yet, jest goes by the size of the files. */
const LONGEST = ['world.test.mts', 'durations.test.mts', 'stop.test.mts', 'polls.test.mts'];

module.exports = class extends Sequencer {
	sort(tests) {
		const rank = ({ path }) => {
			const place = LONGEST.findIndex((name) => path.endsWith(name));
			return place < 0 ? LONGEST.length : place;
		};
		return [...super.sort(tests)].sort((one, other) => rank(one) - rank(other));
	}
};
