/** File names: safe on every file system, and no two alike. */
import fc from 'fast-check';
import { defaultFileStem, portableStem, UniqueNames } from '../../../util/fileName.js';
import { anyCharacter } from '../any-character.mjs';

describe('the name of an image that nobody has named', () => {
	test.each([
		['A red fox, asleep', 'a-red-fox-asleep'],
		['{"scene": "a fox"}', 'scene-a-fox'],
		['x'.repeat(5000), 'x'.repeat(40)],
	])('has the first words of its prompt %j: %s', (prompt, stem) => {
		expect(defaultFileStem({ prompt, model: 'aurora', taskId: 'task_1' })).toBe(stem);
	});

	test.each([
		['', 'vendor/aurora image:1', 'task_0a1b', 'vendor-aurora image-1-task_0a1b'],
		[undefined, undefined, undefined, ''],
		['', 'm'.repeat(300), 'task_1', `${'m'.repeat(80)}-task_1`],
	])('has model and task where the prompt %j names nothing', (prompt, model, taskId, stem) => {
		expect(defaultFileStem({ prompt, model, taskId })).toBe(stem);
	});
});

test.each([
	['../../etc/passwd', 'etc-passwd'],
	['C:\\Windows\\x', 'C-Windows-x'],
	['a\0b\u0007c\nd', 'a-b-c-d'],
	['.hidden', 'hidden'],
	['name. . .', 'name'],
	['CON', 'CON_'],
	['COM1', 'COM1_'],
	['exe\u202egnp', 'exegnp'],
	['a\u200b\ufeffb', 'ab'],
	['LPT9.tar.gz', 'LPT9_.tar.gz'],
	['prn . ', 'prn_'],
	['\u200f\u2066\u2800\u00a0', ''],
	['x'.repeat(300), 'x'.repeat(199)],
	['<img src=x onerror=alert(1)>', 'img src=x onerror=alert(1)'],
])('%j as a file name is %j', (text, name) => {
	expect(portableStem(text)).toBe(name);
});

test('no text makes a name that some file system refuses', () => {
	fc.assert(
		fc.property(
			fc.oneof(fc.string(), fc.string({ unit: anyCharacter, maxLength: 400 })),
			(text) => {
				const stem = portableStem(text);
				expect(Buffer.byteLength(stem)).toBeLessThanOrEqual(200);
				expect(stem).not.toMatch(/[\\/:*?"<>|\p{Cc}\p{Cf}\p{Cs}]|^[ .-]|[ .]$|\.\./u);
				expect(stem).not.toMatch(/^(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]) *(\.|$)/i);
				expect(portableStem(stem)).toBe(stem);
			},
		),
		{ numRuns: 200 },
	);
	for (const long of ['霧', '- ', '{', '.png']) {
		expect(Buffer.byteLength(portableStem(long.repeat(100_000)))).toBeLessThanOrEqual(200);
	}
});

describe('no two files have one name', () => {
	test.each([
		['fox.png fox.png fox.png', 'fox.png fox-2.png fox-3.png'],
		['caf\u00e9.png cafe\u0301.png', 'caf\u00e9.png cafe\u0301-2.png'],
		['gro\u00df.png gro\u1e9e.png groSS.png', 'gro\u00df.png gro\u1e9e-2.png groSS-3.png'],
		['fox.png fox-2.png fox.png', 'fox.png fox-2.png fox-3.png'],
		['constructor __proto__ __proto__', 'constructor __proto__ __proto__-2'],
	])('%s become %s', (given, names) => {
		const unique = new UniqueNames();
		expect(given.split(' ').map((name) => unique.claim(name))).toEqual(names.split(' '));
	});

	test('ten thousand equal ones take as many steps', () => {
		const unique = new UniqueNames();
		const names = Array.from({ length: 10_000 }, () => unique.claim('fox.png'));
		expect(new Set(names).size).toBe(10_000);
		expect(names.at(-1)).toBe('fox-10000.png');
	});
});
