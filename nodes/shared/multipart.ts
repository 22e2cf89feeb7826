import type { FormBody, FormFile } from '../../gateway/plan';

interface FilePart {
	name: string;
	type: string;
	size: number;
	stream: FormFile['open'];
}

type Part = [name: string, value: string | FilePart];

/**
 * A form that n8n's HTTP helper streams with a Content-Length. It looks like the platform's
 * FormData, which is all that the helper asks for; a real one would have to hold every file in
 * memory. It serves one attempt.
 */
class StreamedForm {
	readonly [Symbol.toStringTag] = 'FormData';

	constructor(private readonly parts: Part[]) {}

	append(name: string, value: string): void {
		this.parts.push([name, value]);
	}

	entries(): IterableIterator<Part> {
		return this.parts.values();
	}

	[Symbol.iterator](): IterableIterator<Part> {
		return this.entries();
	}
}

/** The body of a multipart request (specification, 4.2). To be made anew for each attempt. */
export function multipart({ fields, files }: FormBody): FormData {
	const fileParts = files.map(
		({ name, fileName, mimeType, size, open }): Part => [
			name,
			{ name: fileName, type: mimeType, size, stream: open },
		],
	);
	return new StreamedForm([...fields, ...fileParts]) as unknown as FormData;
}
