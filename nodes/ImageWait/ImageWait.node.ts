import type {
	IExecuteFunctions,
	INodeExecutionData,
	INodeType,
	INodeTypeDescription,
} from 'n8n-workflow';
import { NodeConnectionTypes } from 'n8n-workflow';
import { testMediaGateway } from '../shared/credentialTest';
import { downloadFields, optionsField, taskFields } from '../shared/fields';
import { imageItems, readTarget } from '../shared/images';
import { runItems } from '../shared/items';
import { inRange, readLimits } from '../shared/options';
import { openRun } from '../shared/run';
import { createTaskWaiter } from '../shared/tasks';
import { knownFacts, readWantedTask } from '../shared/wanted';

export class ImageWait implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Media Gateway Image Wait',
		name: 'imageWait',
		icon: {
			light: 'file:../../icons/mediaGateway.svg',
			dark: 'file:../../icons/mediaGateway.dark.svg',
		},
		group: ['transform'],
		version: 1,
		subtitle: '={{ "at most " + $parameter["maxWait"] + " s" }}',
		description: 'Wait until image tasks on a media gateway have finished, and get their images',
		defaults: { name: 'Wait for Image' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'mediaGatewayApi', required: true, testedBy: 'testMediaGateway' }],
		properties: [
			...taskFields,
			{
				displayName: 'Poll Interval (Seconds)',
				name: 'pollInterval',
				type: 'number',
				typeOptions: { minValue: 1 },
				default: 3,
				description:
					'About how often a task is asked for: pauses grow from two thirds of it to five thirds',
			},
			{
				displayName: 'Max Wait (Seconds)',
				name: 'maxWait',
				type: 'number',
				typeOptions: { minValue: 1 },
				default: 600,
				description:
					'How long a task is waited for. After that the error names the task, which goes on at the gateway.',
			},
			...downloadFields,
			optionsField(['concurrency', 'maxDownloadMb', 'requestsPerSecond', 'timeout']),
		],
	};

	methods = { credentialTest: { testMediaGateway } };

	async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
		const run = await openRun(this, readLimits(this));
		try {
			const pollInterval = this.getNodeParameter('pollInterval', 0, 3) as unknown;
			const waiter = createTaskWaiter(run, inRange(this, 'pollInterval', pollInterval, 0) * 1000);
			const items = await runItems(run, this.getInputData().length, {
				prepare: (itemIndex) => {
					const task = readWantedTask(this, itemIndex);
					const facts = knownFacts(this, itemIndex);
					const target = readTarget(this, itemIndex);
					const maxWait = this.getNodeParameter('maxWait', itemIndex, 600) as unknown;
					const maxWaitMs = inRange(this, 'maxWait', maxWait, itemIndex) * 1000;
					return async () => {
						const { taskId, taskType, status, created, model, images } = await waiter.wait(
							task,
							maxWaitMs,
						);
						return await imageItems(
							run,
							images,
							{
								model: facts.model ?? model,
								created,
								taskId,
								taskType,
								status,
								prompt: facts.prompt,
							},
							target,
						);
					};
				},
			});
			return [items];
		} finally {
			run.end();
		}
	}
}
