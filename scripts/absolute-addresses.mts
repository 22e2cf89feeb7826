const PICTURE = /\.(png|svg)$/;

interface Manifest {
	version: string;
	repository: { url: string };
}

/**
 * A document with the addresses of the files of a release in place of relative ones. Links to its own
 * headings stay.
 */
export function withAbsoluteAddresses(text: string, { version, repository }: Manifest): string {
	const home = repository.url.replace(/^git\+/, '').replace(/\.git$/, '');
	return text.replace(/\]\((?!https?:|#)([^)\s#]+)/g, (_, path: string) => {
		const kind = PICTURE.test(path) ? 'raw' : 'blob';
		return `](${home}/${kind}/v${version}/${path}`;
	});
}
