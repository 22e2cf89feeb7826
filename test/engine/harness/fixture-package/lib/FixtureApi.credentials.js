class FixtureApi {
	name = 'fixtureApi';
	displayName = 'Fixture API';
	properties = [
		{ displayName: 'Key', name: 'key', type: 'string', default: '' },
		{ displayName: 'Scheme', name: 'scheme', type: 'string', default: 'Bearer' },
	];
	authenticate = async ({ key, scheme }, options) => ({
		...options,
		headers: { ...options.headers, authorization: `${scheme} ${key}` },
	});
}

module.exports = { FixtureApi };
