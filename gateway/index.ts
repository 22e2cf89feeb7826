/*
 * The door of the gateway's client: what code outside of gateway/ may use of it, beside
 * messages/index.ts and models/index.ts.
 */
export { probeSettings } from './credentialProbe';
export { alsoNamed, isOutOfReach, taskError } from './errors/taskErrors';
export { Gateway, openGateway, type Ports } from './gatewayClient';
export type { ImageSource } from './imageDownload';
export type { Journal, Settled } from './journal';
export { type Account, accountOf } from './protocol/account';
export { type Bill, inItsUnit, laterBill, rounded } from './protocol/bill';
export { credentialHeaders, skipsCertificate } from './protocol/auth';
export { type Charged, mostCharged, readCharged } from './protocol/charged';
export { GatewayError, hasCode, type Problem, withDetails } from './protocol/gatewayError';
export { usualPlan } from './protocol/requestIdentity';
export { type Order, showOrder } from './protocol/imageOrder';
export {
	type FormFile,
	IMAGE_FIELD,
	type ImageRequest,
	type PaidPlan,
	pathPart,
} from './protocol/requestPlan';
export type { GoodResponse } from './protocol/outcome';
export { TASK_TYPES, type TaskType } from './protocol/taskType';
export { RunEnded } from './wire/inFlight';
export { statusGroup } from './protocol/status';
export { readBilling, type Receipt } from './responses/paidResponse';
export type { ResultFile } from './responses/responseFields';
export { mergedFacts, type ResultFacts } from './responses/resultFacts';
export { isInline, type Task, taskKey, taskName, type TaskState } from './responses/task';
export type { TaskEnd, Wait } from './wait/taskWaiter';
export type { RunLimits } from './wire/sendOnce';
export type { Transport, WireBody } from './wire/transport';
