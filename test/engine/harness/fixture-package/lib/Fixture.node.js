/** One operation for each thing that the host has to give to a node. */
const operations = {
	async request(url) {
		const options = { url, json: true };
		return await this.helpers.httpRequestWithAuthentication.call(this, 'fixtureApi', options);
	},
	async binary() {
		const file = [Buffer.from('abc'), 'abc.txt', 'text/plain'];
		return { json: {}, binary: { data: await this.helpers.prepareBinaryData(...file) } };
	},
	async fail() {
		throw new Error('It failed.');
	},
	async untilStopped() {
		const signal = this.getExecutionCancelSignal();
		await new Promise((resolve) => {
			if (signal.aborted) resolve();
			else signal.addEventListener('abort', resolve);
		});
		return { stopped: true };
	},
	async park() {
		const notes = this.getContext('node');
		notes.runs = (notes.runs ?? 0) + 1;
		if (notes.runs < 3) await this.putExecutionToWait(new Date(Date.now() + 3600e3));
		return { runs: notes.runs };
	},
	async parkInChild() {
		const node = this.getNode();
		const step = (name, type, parameters = {}) => ({ name, type, parameters });
		const wire = (to) => [{ node: to, type: 'main', index: 0 }];
		const code = {
			nodes: [
				step('Start', 'n8n-nodes-base.executeWorkflowTrigger'),
				step('Park', node.type, { operation: 'parkLoop' }),
				step('Done', 'n8n-nodes-base.noOp'),
			],
			connections: {
				Start: { main: [wire('Park')] },
				Park: { main: [wire('Park'), wire('Done')] },
			},
		};
		const input = this.getInputData();
		const child = await this.executeWorkflow({ code }, input, undefined, {
			doNotWaitToFinish: false,
		});
		return child.data[0][0].json;
	},
	async tool() {
		const asked = this.getNodeParameter('url', 0);
		const loggedAs = this.getNode().rewireOutputLogTo ?? null;
		return { asked, isTool: this.isToolExecution(), loggedAs };
	},
};

class Fixture {
	description = {
		name: 'fixture',
		displayName: 'Fixture',
		description: 'Fixture',
		group: ['transform'],
		version: 1,
		defaults: { name: 'Fixture' },
		inputs: ['main'],
		outputs: ['main', 'main'],
		usableAsTool: true,
		credentials: [{ name: 'fixtureApi', required: true }],
		properties: [
			{ displayName: 'Operation', name: 'operation', type: 'string', default: 'request' },
			{ displayName: 'URL', name: 'url', type: 'string', default: '' },
		],
	};

	async execute() {
		const operation = this.getNodeParameter('operation', 0);
		if (operation === 'parkLoop') {
			const { runs } = await operations.park.call(this);
			return runs < 3 ? [[{ json: {} }], []] : [[], [{ json: { runs } }]];
		}
		const items = [];
		for (let item = 0; item < this.getInputData().length; item++) {
			const url = this.getNodeParameter('url', item);
			try {
				const result = await operations[operation].call(this, url);
				items.push({ ...(result.json ? result : { json: result }), pairedItem: { item } });
			} catch (error) {
				if (!this.continueOnFail()) throw error;
				items.push({ json: { error: error.message }, pairedItem: { item } });
			}
		}
		return [items, []];
	}
}

module.exports = { Fixture };
