import type { INodeProperties } from 'n8n-workflow';
import { NOT_IN_TOOLS } from '../descriptions/imageFields';

/**
 * The options that make waiting survive a crash.
 *
 * @param modes in which modes of the node there is something to survive; undefined where it has none
 */
export function survivalFields(modes?: string[]): INodeProperties[] {
	// It has no effect in an agent's tool.
	const displayOptions = {
		...(modes === undefined ? {} : { show: { '/mode': modes } }),
		hide: NOT_IN_TOOLS,
	};
	return [
		{
			displayName: 'Park After (Seconds)',
			name: 'parkAfter',
			type: 'number',
			typeOptions: { minValue: 0, maxValue: 3600 },
			default: 0,
			description:
				"With 'Survive Restarts': how long to wait in memory before the execution is stored. Quick tasks finish sooner, but a crash within this time loses the run.",
			displayOptions,
		},
		{
			displayName: 'Survive Restarts',
			name: 'surviveRestarts',
			type: 'boolean',
			default: false,
			description:
				"Whether waiting survives a restart or crash of n8n. The execution is stored in the database, and tasks are checked about once a minute, for the first time after half a minute on average. To get quick tasks sooner, set 'Park After'. Requires n8n 2 and a saved workflow.",
			displayOptions,
		},
	];
}

/** What the editor shows beside a node whose execution is stored. */
export const WAITING_TOOLTIP =
	'Waiting for image tasks. They are checked about once a minute, even after n8n restarts.';
