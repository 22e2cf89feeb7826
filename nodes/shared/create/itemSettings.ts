import type { IExecuteFunctions } from 'n8n-workflow';
import type { AsyncFlag } from '../../../gateway/protocol/requestPlan';
import { readTarget, type ImageTarget } from '../images/imageItems';
import { inRange, readChoice, readOptions, readSwitch } from '../parameters/optionValues';
import { readParameter } from '../parameters/reader';

/** What an item sets beside its request. */
export interface ItemSettings {
	mode: (typeof MODES)[number];
	/** How the gateway is told to make a task; undefined means synchronous. */
	asyncFlag?: AsyncFlag;
	checkLimits: boolean;
	dryRun: boolean;
	target: ImageTarget;
	maxWaitMs: number;
}

const MODES = ['sync', 'wait', 'submit'] as const;
const ASYNC_FLAGS: [AsyncFlag, ...AsyncFlag[]] = ['query', 'header', 'body'];

/** @throws NodeOperationError that names the parameter to correct */
export function readItemSettings(context: IExecuteFunctions, itemIndex: number): ItemSettings {
	const options = readOptions(context, itemIndex);
	const { asyncFlag, checkLimits, dryRun, maxWait } = options;
	const given = readParameter(context, 'mode', itemIndex, 'sync');
	const mode = readChoice(context, 'Mode', given, MODES, itemIndex);
	const flag = readChoice(context, 'Asynchronous Flag', asyncFlag, ASYNC_FLAGS, itemIndex);
	return {
		mode,
		asyncFlag: mode === 'sync' ? undefined : flag,
		checkLimits: readSwitch(context, 'Check Limits Before Sending', checkLimits, true, itemIndex),
		dryRun: readSwitch(context, 'Dry Run', dryRun, false, itemIndex),
		target: readTarget(context, itemIndex),
		maxWaitMs: inRange(context, 'maxWait', maxWait, itemIndex) * 1000,
	};
}
