const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * What begins first. Where nothing has been measured yet, jest goes by the size of the files, and
 * would end with the worlds, which take longest. Simulations on virtual time make promises by the
 * million: they take five times as long in a worker that has loaded n8n for many files.
 */
const FIRST = [
	'world.test.mts',
	'faults.test.mts',
	'durations.test.mts',
	'gateway-limits.test.mts',
	'poller.test.mts',
	'fuzz.test.mts',
	'hostile-bytes.test.mts',
];

module.exports = class extends Sequencer {
	sort(tests) {
		const rank = ({ path }) => {
			const place = FIRST.findIndex((name) => path.replaceAll('\\', '/').endsWith(`/${name}`));
			return place < 0 ? FIRST.length : place;
		};
		return [...super.sort(tests)].sort((one, other) => rank(one) - rank(other));
	}
};
