/** How often the model list is searched: once for each model name, however many items name it. */
import type { ModelRecord } from '../../../gateway/protocol/models.js';
import { Checker } from '../../../nodes/shared/models/modelChecks.js';
import type { Run } from '../../../nodes/shared/run/runContext.js';

test('a thousand items of one unlisted model cost one search, and one hint', async () => {
	let reads = 0;
	const record = {
		get model() {
			reads += 1;
			return 'aurora-image-1';
		},
	} as ModelRecord;
	const hints = new Set<string>();
	const checker = new Checker({ hints } as unknown as Run, 'generation');
	Object.assign(checker, { listing: Promise.resolve({ models: [record], isCut: false }) });
	for (let item = 0; item < 1000; item += 1) {
		await checker.check({ model: 'aurora-imag-1', prompt: `fox ${item}` }, false);
	}
	expect([...hints]).toEqual([
		"The gateway doesn't list the model 'aurora-imag-1', so the request wasn't checked before sending. Did you mean 'aurora-image-1'?",
	]);
	expect(reads).toBeLessThan(10);
});
