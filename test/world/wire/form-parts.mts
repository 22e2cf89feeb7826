/** Reads a multipart form as it came over a socket. */
import type { FormPart } from './messages.mjs';

const HEAD_END = '\r\n\r\n';

/** @returns the parts in order, or undefined if it is no form */
export function readParts(contentType: string | undefined, body: Buffer): FormPart[] | undefined {
	const boundary = /^multipart\/form-data; *boundary="?([^";]+)/i.exec(contentType ?? '')?.[1];
	if (boundary === undefined) return undefined;
	const text = body.toString('latin1');
	const pieces = text.split(`--${boundary}`).slice(1, -1);
	return pieces.map((piece) => {
		const at = piece.indexOf(HEAD_END);
		const head = Buffer.from(piece.slice(0, at), 'latin1').toString();
		return {
			name: /; name="([^"]*)"/.exec(head)?.[1] ?? '',
			fileName: /; filename="([^"]*)"/.exec(head)?.[1],
			type: /^content-type: *(.*)$/im.exec(head)?.[1],
			value: Buffer.from(piece.slice(at + HEAD_END.length, -2), 'latin1'),
		};
	});
}
