/** A mail server that keeps what it is sent: as much of SMTP as n8n's Send Email node speaks. */
import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface Mailbox {
	port: number;
	/** Each mail with its headers, in the order of arrival. */
	mails(): string[];
	close(): Promise<void>;
}

/** @returns a mailbox at a port that the system chooses */
export async function openMailbox(): Promise<Mailbox> {
	const mails: string[] = [];
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket);
		receive(socket, mails);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		port: (server.address() as AddressInfo).port,
		mails: () => [...mails],
		close: async () => {
			for (const socket of sockets) socket.destroy();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

const END_OF_MAIL = '\r\n.\r\n';

/** Speaks with one client: every command is accepted. */
function receive(socket: Socket, mails: string[]): void {
	const say = (line: string): void => void socket.write(`${line}\r\n`);
	let text = '';
	let isMail = false;
	say('220 mailbox');
	socket.setEncoding('utf8').on('data', (chunk) => {
		text += String(chunk);
		for (;;) {
			const end = text.indexOf(isMail ? END_OF_MAIL : '\r\n');
			if (end < 0) return;
			const part = text.slice(0, end);
			text = text.slice(end + (isMail ? END_OF_MAIL : '\r\n').length);
			if (isMail) mails.push(part);
			isMail = !isMail && /^data$/i.test(part);
			say(isMail ? '354 go on' : /^quit/i.test(part) ? '221 bye' : '250 ok');
		}
	});
}
