import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

const secret = 'embedded-gateway';
const nonceBytes = 12;

/**
 * Signature of a thinking block: a nonce and the HMAC over it and the text. It says nothing about
 * the conversation it stands in, so it stays valid wherever the block is sent back unchanged.
 */
export function sign(thinking: string, seed: string): string {
	const nonce = createHash('sha256').update(seed).digest().subarray(0, nonceBytes);
	return Buffer.concat([nonce, code(nonce, thinking)]).toString('base64');
}

/** Whether a block came back as it went out. */
export function verify(thinking: string, signature: string): boolean {
	const bytes = Buffer.from(signature, 'base64');
	// Decoding is lenient; what does not encode to the same text again was touched.
	if (bytes.length !== nonceBytes + 32 || bytes.toString('base64') !== signature) return false;
	return timingSafeEqual(bytes.subarray(nonceBytes), code(bytes.subarray(0, nonceBytes), thinking));
}

function code(nonce: Buffer, thinking: string): Buffer {
	return createHmac('sha256', secret).update(nonce).update(thinking, 'utf8').digest();
}
