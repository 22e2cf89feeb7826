/** An image of the page: its file beside the page, and what it was generated from. */
export interface DemoImage {
	file: string;
	prompt: string;
	model: string;
}

const escape = (text: string) => text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);

/** One page that shows all images side by side; it needs no network. */
export function renderPage(images: DemoImage[]): string {
	const figures = images.map(
		({ file, prompt, model }) => `<figure>
	<a href="${escape(encodeURI(file))}"><img src="${escape(encodeURI(file))}" alt="${escape(prompt)}"></a>
	<figcaption>${escape(prompt)}<br><small>${escape(model)}</small></figcaption>
</figure>`,
	);
	return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Media Gateway: demo images</title>
<style>
	:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
	body { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); }
	figure { margin: 0; }
	img { width: 100%; }
</style>
${figures.join('\n')}
</html>
`;
}
