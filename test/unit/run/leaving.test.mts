/** What leaves a node has the secrets of its credential erased, and is passed on in any case. */
import { recordable } from '../../../nodes/shared/payments/storedPayments.js';
import { addHints } from '../../../nodes/shared/run/runContext.js';
import { eraseFrom, leavingError } from '../../../nodes/shared/run/leaving.js';

const context = {};
eraseFrom(context, (text) => text.replaceAll('sk-secret', '***'));

test('an error and its cause lose the secret, whatever else they hold', () => {
	const cause = new Error('sk-secret was refused');
	const error = Object.assign(new Error('failed with sk-secret', { cause }), {
		description: 'sk-secret',
		context: { data: { response: 'sk-secret' } },
		messages: ['sk-secret'],
		errorResponse: { message: 'sk-secret' },
	});
	Object.defineProperty(error, 'code', { value: 'sk', writable: false });
	Object.assign(cause, { cause: error, config: { error } });
	expect(leavingError(context, error)).toBe(error);
	const { message, stack, ...more } = error;
	const { message: why, stack: whence } = cause;
	expect(JSON.stringify([message, stack, more, why, whence])).not.toContain('sk-secret');
});

test('what is no error stays as it is', () => {
	expect(leavingError(context, undefined)).toBeUndefined();
});

test('a record has the addresses of images and tasks as they came, to ask again', () => {
	const url = 'https://gateway.example/1?key=sk-secret';
	const paid = { kind: 'images', images: [{ url }], task: { taskId: '1', statusUrl: url } };
	const told = { ...paid, requestId: 'sk-secret' } as Parameters<typeof recordable>[1];
	expect(recordable(context, told)).toEqual({ ...paid, requestId: '***' });
});

test('a hint is cut off at its end', () => {
	const shown: string[] = [];
	const addExecutionHints = ({ message }: { message: string }) => void shown.push(message);
	addHints({ addExecutionHints }, ['What was paid for: '.repeat(100)]);
	expect(shown).toEqual([expect.stringMatching(/^What was .*…$/)]);
});
