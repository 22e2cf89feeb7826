import { packPackage } from '../../harness/server/packed-package.mjs';
import { startServer, type Json, type N8nServer } from '../../harness/server/server.mjs';
import { spreadLifetimes } from '../ideal.mjs';
import { openTarget } from '../processes/children.mjs';
import { complete, seconds, wall } from '../report/figures.mjs';
import type { Line, Scenario } from '../report/lines.mjs';
import { compare, median, type Trial } from '../trials.mjs';
import { builtInFolder } from '../server-tree.mjs';
import { MODEL, type Work } from '../work.mjs';

export const delay: Scenario = {
	name: 'delay',
	title: 'Detection delay',
	async run({ quick }) {
		const lines: Line[] = [];
		const cases = [[3, 3, 12], [3, 10, 40]] as const; // prettier-ignore
		for (const [pauseS, fromS, toS] of quick ? cases.slice(0, 1) : cases) {
			const work = (ids: string[]) => ({ kind: 'wait' as const, ids, pauseS });
			const trials = await compare({
				gateway: {},
				lifetimes: spreadLifetimes(10, fromS + 0.37, toS + 0.37),
				work: { package: work, axios: work },
				// Each gives ten delays.
				times: quick ? 1 : 2,
			});
			const of = (list: Trial[]) => {
				const delays = list.flatMap(({ report }) => report.delaysMs).sort((a, b) => a - b);
				return delays[delays.length >> 1] as number;
			};
			const ms = of(trials.package);
			lines.push({
				measure: `Detection delay, median, 10 tasks of ${fromS} to ${toS} s, pause ${pauseS} s`,
				goal: `at most ${seconds(600 * pauseS)} (0.6 × the pause)`,
				package: seconds(ms, 2),
				byHand: seconds(of(trials.axios), 2),
				ideal: '0 s',
				reached: ms <= 600 * pauseS,
			});
		}
		return { lines };
	},
};

/** One image, one click: what the process has learned from one task before. */
export const known: Scenario = {
	name: 'known',
	title: 'One image of a model seen before',
	async run({ quick }) {
		const taskSeconds = 3;
		const one: Work = { kind: 'tasks', count: 1, pauseS: 3, nodes: 1 };
		const setup = { gateway: { taskSeconds }, times: quick ? 1 : 5, warmUp: one };
		const trials = await compare({
			...setup,
			work: { singleNode: () => one, builtIn: () => ({ ...one, nodes: undefined }) },
		});
		const list = trials.singleNode;
		const polls = ({ report }: Trial) => report.counts.poll ?? NaN;
		const ms = median(list, wall);
		return {
			lines: [
				{
					measure: `1 task of ${taskSeconds} s, model seen before`,
					goal: 'at most 3.5 s',
					package: `${seconds(ms, 2)}, ${median(list, polls)} poll(s)`,
					builtIn:
						trials.builtIn.length === 0 ? undefined : seconds(median(trials.builtIn, wall), 2),
					ideal: seconds(taskSeconds * 1000, 2),
					reached: complete(list, 1) && ms <= 3500,
				},
			],
		};
	},
};

const START = {
	name: 'Start',
	type: 'n8n-nodes-base.manualTrigger',
	typeVersion: 1,
	parameters: {},
};

/** Stores Start → node; returns how long a run of it takes, from the click to its end, in milliseconds. */
async function clicks(server: N8nServer, node: Json, times: number): Promise<number[]> {
	const { id } = await server.createWorkflow({
		name: node.name,
		nodes: [START, node].map((each, x) => ({ ...each, id: each.name, position: [200 * x, 0] })),
		connections: { Start: { main: [[{ node: node.name, type: 'main', index: 0 }]] } },
	});
	const took: number[] = [];
	for (let time = 0; time <= times; time += 1) {
		const begun = Date.now();
		const { status, stoppedAt } = await server.settled(await server.runManually(id));
		if (status !== 'success') throw new Error(`An execution of ${node.name} ended as ${status}`);
		// The first one teaches the process how long the model takes.
		if (time > 0) took.push(Date.parse(stoppedAt ?? '') - begun);
	}
	return took.sort((one, other) => one - other);
}

/** The same on a real server, by the request that the editor's button sends. */
export const click: Scenario = {
	name: 'click',
	title: 'One image by a click on a real server',
	async run({ quick }) {
		if (builtInFolder() === undefined) return { lines: [] };
		const taskSeconds = 3;
		const target = await openTarget({ taskSeconds });
		const server = await startServer({ package: (await packPackage()).tarball });
		try {
			const times = quick ? 2 : 9;
			const middle = (took: number[]) => took[took.length >> 1] as number;
			const credentials = await server.storeAccount(target.url, target.key);
			const noOp = { name: 'No-Op', type: 'n8n-nodes-base.noOp', typeVersion: 1, parameters: {} };
			const image = {
				name: 'Image',
				type: 'n8n-nodes-media-gateway.imageGeneration',
				typeVersion: 1,
				parameters: {
					model: { __rl: true, mode: 'name', value: MODEL },
					prompt: 'a harbor at dawn',
					mode: 'wait',
				},
				credentials,
			};
			const bare = middle(await clicks(server, noOp, times));
			const ms = middle(await clicks(server, image, times));
			return {
				lines: [
					{
						measure: `1 task of ${taskSeconds} s on n8n ${server.install.n8nVersion}, from the editor, downloaded, model seen before`,
						goal: `at most 3.6 s and what n8n takes for a workflow that does nothing (${seconds(bare, 2)})`,
						package: seconds(ms, 2),
						ideal: seconds(taskSeconds * 1000 + bare, 2),
						reached: ms <= 3600 + bare,
					},
				],
			};
		} finally {
			await server.dispose();
			await target.close();
		}
	},
};
