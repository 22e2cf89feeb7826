/** Serves a package that exports a handler in the form of `fetch`: `node serve-fetch-handler.mjs PACKAGE PORT`. */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const [, , packageName, port] = process.argv;
const { default: app } = await import(packageName);

createServer(async (request, response) => {
	const { method, headers } = request;
	const body = ['GET', 'HEAD'].includes(method) ? undefined : Readable.toWeb(request);
	const url = new URL(request.url, `http://${headers.host}`);
	const answer = await app.fetch(new Request(url, { method, headers, body, duplex: 'half' }));
	response.writeHead(answer.status, [...answer.headers].flat());
	await pipeline(answer.body ? Readable.fromWeb(answer.body) : Readable.from([]), response);
}).listen(Number(port), '127.0.0.1');
