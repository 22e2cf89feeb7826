/** What `npm run release:check` finds before a version is published. */
import { findings, type Facts } from '../../../scripts/release-check.mjs';

const HOME = 'https://github.com/acme/images';
const facts: Facts = {
	manifest: {
		name: 'n8n-nodes-media-gateway',
		version: '0.2.0',
		homepage: HOME,
		author: { name: 'Ada', email: 'ada@example.com' },
		repository: { url: `git+${HOME}.git` },
		publishConfig: { access: 'public', provenance: true },
		n8n: { nodes: [], credentials: [] },
	},
	described: true,
	readme: `[Guide](docs/guide.md), \`git clone ${HOME}\``,
	codeowners: '* @acme/painters',
	leading: { 'package.json': HOME, 'credentials/A.ts': `${HOME}#credential` },
	published: ['0.1.0'],
	missing: [],
};

const open = (changed: Partial<Facts>) =>
	findings({ ...facts, ...changed }).flatMap(({ what, todo }) =>
		todo === undefined ? [] : [`${what}: ${todo}`],
	);
const manifest = (changed: Partial<Facts['manifest']>) => ({
	manifest: { ...facts.manifest, ...changed },
});

test('finds nothing where all is as it has to be', () => expect(open({})).toEqual([]));

test.each<[string, Partial<Facts>, RegExp]>([
	[
		'an address that nobody replaced',
		manifest({ homepage: 'https://github.com/n8n-nodes-media-gateway/n8n-nodes-media-gateway' }),
		/npm run address -- https:\/\/github.com\/OWNER/,
	],
	[
		'a file with another one',
		{ leading: { 'nodes/A.node.json': 'https://github.com/x/y' } },
		/nodes\/A/,
	],
	['README with another one', { readme: 'git clone https://github.com/x/y' }, /README\.md/],
	[
		'an email that nobody reads',
		manifest({ author: { name: 'A', email: 'a@users.noreply.github.com' } }),
		/author\.email/,
	],
	['an email that is none', manifest({ author: { name: 'A', email: 'ada' } }), /author\.email/],
	['reviewers of nobody', { codeowners: '* @n8n-nodes-media-gateway/maintainers' }, /CODEOWNERS/],
	['a version that exists', { published: ['0.1.0', '0.2.0'] }, /0\.2\.0 is on npm/],
	['a version that is none', manifest({ version: 'v2' }), /such as 1\.2\.3/],
	['npm without network', { published: undefined }, /again online/],
	['a version without changes', { described: false }, /section "## 0\.2\.0"/],
	['a first release that npm refuses', manifest({ publishConfig: undefined }), /access public/],
	['a dependency', manifest({ dependencies: { axios: '1' } }), /dependencies/],
	['an icon that is not built', { missing: ['dist/icons/a.svg'] }, /dist\/icons\/a\.svg/],
])('finds %s, and says what to do', (_, changed, todo) => {
	const list = open(changed);
	expect(list).not.toEqual([]);
	expect(list.join('\n')).toMatch(todo);
});
