import { createHash } from 'crypto';
import { cleanApiKey } from '../../gateway/auth';
import type { GatewayAddress } from './run';

/**
 * Under what name is kept what this process learns about a gateway: its address and the account,
 * because limits are those of an account. A digest: the key itself is kept nowhere.
 */
export function accountOf({ baseUrl, mediaUrl, authentication }: GatewayAddress): string {
	const key = cleanApiKey(authentication.credentialsDecrypted?.data?.apiKey);
	return createHash('sha256').update([baseUrl, mediaUrl, key].join('\n')).digest('base64');
}
