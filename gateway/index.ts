/*
 * The door of the gateway's client: what code outside of gateway/ may use of it, beside
 * messages/index.ts and models/index.ts.
 */
export type { ImageSource } from './imageDownload';
export { isOutOfReach, taskError } from './errors/taskErrors';
export { Gateway, openGateway, type Ports } from './gatewayClient';
export type { Journal, Settled } from './journal';
export { openAccount, type Account } from './protocol/account';
export { mostCharged, readCharged, type Charged } from './protocol/charged';
export { GatewayError, hasCode, withDetails, type Problem } from './protocol/gatewayError';
export { showOrder, type Order } from './protocol/imageOrder';
export type { ImageRequest, TaskType } from './protocol/requestPlan';
export { RunEnded } from './protocol/runEnded';
export type { Receipt } from './responses/paidResponse';
export { taskKey, type Task, type TaskState } from './responses/task';
export type { FinishedTask, OpenTask, WaitFor } from './wait/taskWaiter';
export type { RunLimits } from './wire/runLimits';
export type { Transport, WireBody, WireRequest, WireResponse } from './wire/transport';
