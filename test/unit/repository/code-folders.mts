/** The folders with code. */
export const FOLDERS = [
	'bench',
	'credentials',
	'demo',
	'gateway',
	'harness',
	'nodes',
	'scripts',
	'simulator',
	'test',
];
