/** What somebody reads who opens an execution that waits in the place of another. */
import {
	checkWorkflow,
	keepWorkflow,
	submittedWorkflow,
	supervisorWorkflow,
} from '../../../nodes/shared/suspend/subWorkflows.js';

const context = {
	getNode: () => ({ type: 'n8n-nodes-media-gateway.imageWait', typeVersion: 1 }),
	getWorkflow: () => ({ name: 'Batch' }),
} as never;
const plan = { workflowName: 'Batch', nodeName: 'Wait', options: {} } as never;

test.each([
	['waits', supervisorWorkflow(context, plan), /\*\*Red after a crash is normal/],
	['keeps', keepWorkflow(context, plan), /\*\*Red after a crash is normal/],
	['checks', checkWorkflow(context, plan), /\*\*Red after a crash is normal/],
	['has what was submitted', submittedWorkflow(context), /\*Collect these tasks\*/],
])('the one that %s says what it is', (_, { code }, note) => {
	const nodes = code?.nodes ?? [];
	const sticky = nodes.find(({ type }) => type === 'n8n-nodes-base.stickyNote');
	expect(sticky?.parameters.content).toMatch(/^## Helper of Survive Restarts/);
	expect(sticky?.parameters.content).toMatch(note);
	// n8n fits all nodes into the window: the note of one that is wider can't be read.
	expect(Math.max(...nodes.map(({ position }) => position[0]))).toBeLessThan(1000);
	const steps = nodes.filter(({ parameters }) => /supervise|keep|check/.test(`${parameters.step}`));
	expect(steps.filter(({ notes }) => notes === undefined || notes.length > 40)).toEqual([]);
});
