import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';

/**
 * A self-signed certificate for 127.0.0.1, made anew: one in the repository would run out.
 * @returns PEM texts
 */
export function selfSignedCertificate(): { key: string; cert: string } {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'media-gateway-certificate-'));
	try {
		const [key, cert] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
		const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
		const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
		execFileSync('openssl', [...request, '-keyout', key, '-out', cert, ...subject], {
			stdio: 'pipe',
		});
		return { key: fs.readFileSync(key, 'utf8'), cert: fs.readFileSync(cert, 'utf8') };
	} finally {
		fs.rmSync(folder, { recursive: true, force: true });
	}
}
