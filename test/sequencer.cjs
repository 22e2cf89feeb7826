const { default: Sequencer } = require('@jest/test-sequencer');

/**
 * What takes longest begins first, the longest before all. Where nothing has been measured yet, jest
 * goes by the size of the files, and would end with the worlds.
 */
const FIRST = [
	'world.test.mts',
	'gateways.test.mts',
	'faults.test.mts',
	'money.test.mts',
	'stop.test.mts',
	'credential.test.mts',
	'polls.test.mts',
	'known-model.test.mts',
	'options.test.mts',
	'redos.test.mts',
	'suspend-batch.test.mts',
	'gateway-limits.test.mts',
	'hostile-bytes.test.mts',
	'fuzz.test.mts',
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
