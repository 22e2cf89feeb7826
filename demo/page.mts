/** An image of the page: its file beside the page, and what it was generated from. */
export interface DemoImage {
	file: string;
	prompt: string;
	model: string;
}

const entities: Record<string, string> = {
	'&': '&amp;',
	'<': '&lt;',
	'>': '&gt;',
	'"': '&quot;',
	"'": '&#39;',
};

function escape(text: string): string {
	return text.replace(/[&<>"']/g, (character) => entities[character]!);
}

/** One page that shows all images side by side; it needs no network. */
export function renderPage(images: DemoImage[]): string {
	const figures = images.map(
		({ file, prompt, model }) => `		<figure>
			<a href="${escape(encodeURI(file))}"><img src="${escape(encodeURI(file))}" alt="${escape(prompt)}"></a>
			<figcaption>${escape(prompt)}<small>${escape(model)}</small></figcaption>
		</figure>`,
	);
	return `<!doctype html>
<html lang="en">
	<head>
		<meta charset="utf-8">
		<meta name="viewport" content="width=device-width, initial-scale=1">
		<title>Media Gateway: demo images</title>
		<style>
			:root { color-scheme: light dark; font-family: system-ui, sans-serif; }
			body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
			main { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(16rem, 1fr)); }
			figure { margin: 0; }
			img { border-radius: 0.5rem; display: block; height: auto; width: 100%; }
			figcaption { line-height: 1.4; padding-top: 0.5rem; }
			small { display: block; opacity: 0.65; }
		</style>
	</head>
	<body>
		<h1>Demo images</h1>
		<main>
${figures.join('\n')}
		</main>
	</body>
</html>
`;
}
