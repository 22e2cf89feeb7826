import { Readable } from 'node:stream';
import { peek, readBody, TooLargeError } from '../../../gateway/wire/responseBody.js';

const LIMIT = 10;

describe('a body', () => {
	test.each([
		['in pieces', () => Readable.from([Buffer.from('one'), Buffer.from('two')]), 'onetwo'],
		['that is empty', () => Readable.from([]), ''],
		['just as long as allowed', () => Readable.from([Buffer.alloc(LIMIT, 'x')]), 'xxxxxxxxxx'],
		['that is no stream', () => 'text', 'text'],
		[
			'of the middle of some bytes',
			() => new TextEncoder().encode('[bytes]').subarray(1, 6),
			'bytes',
		],
	])('%s is read to its end', async (_, body, text) => {
		expect((await readBody(body(), LIMIT)).toString()).toBe(text);
	});

	test('that is a web stream does not compile, as nothing here would read it', async () => {
		// @ts-expect-error the port takes streams of Node.js
		await expect(readBody(new Blob(['text']).stream(), LIMIT)).rejects.toThrow(TypeError);
	});

	test('without end is cut off', async () => {
		let given = 0;
		const body = new Readable({
			read() {
				given += 1;
				this.push(Buffer.alloc(4));
			},
		});
		await expect(readBody(body, LIMIT)).rejects.toThrow(TooLargeError);
		expect(body.destroyed).toBe(true);
		const givenThen = given;
		await new Promise((resolve) => setImmediate(resolve));
		expect(given).toBe(givenThen);
	});

	test('that is cut midway is told from one that ends', async () => {
		const body = new Readable({ read: () => undefined });
		const reading = readBody(body, LIMIT);
		body.push('half');
		body.destroy();
		await expect(reading).rejects.toThrow('premature close');
	});

	test('that has closed before it is read does not keep anybody waiting', async () => {
		const body = new Readable({ read: () => undefined });
		body.destroy();
		await new Promise((resolve) => body.once('close', resolve));
		await expect(readBody(body, LIMIT)).rejects.toThrow('premature close');
		await expect(peek(body)).rejects.toThrow('premature close');
	});
});
