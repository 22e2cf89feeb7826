/** The end of an error's text: how often the request was tried, if more than once. */
export const afterTries = (attempts: number): string =>
	attempts > 1 ? ` (tried ${attempts} times)` : '';

const TRIES = / \(tried \d{1,9} times\)/g;

/** An error's text without its number of tries, which differs between items that failed alike. */
export const withoutTries = (message: string): string => message.replace(TRIES, '');
