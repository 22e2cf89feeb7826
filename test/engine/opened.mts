/** Keeps what a test file opens, and closes it after its last test. */
const open: Array<{ close(): Promise<void> }> = [];

afterAll(async () => {
	await Promise.all(open.map(async (one) => await one.close()));
});

/** Waits for a gateway, a bench or a server to open, and sees to it that it is closed. */
export async function opened<T extends { close(): Promise<void> }>(
	promise: Promise<T>,
): Promise<T> {
	const one = await promise;
	open.push(one);
	return one;
}
