/** What the first bytes of a file say it is: `png`, `jpeg`, …; undefined if that is no picture. */
export function formatOf(start: Buffer): string | undefined {
	const text = start.toString('latin1', 0, 12);
	if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
	if (text.startsWith('\xff\xd8\xff')) return 'jpeg';
	if (text.startsWith('GIF8')) return 'gif';
	if (text.startsWith('BM')) return 'bmp';
	if (text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP') return 'webp';
	if (text.startsWith('II*\0') || text.startsWith('MM\0*')) return 'tiff';
	return undefined;
}
