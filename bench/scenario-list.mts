/** What is measured, in the order of the table. */
import type { Scenario } from './report/lines.mjs';
import { hundred } from './scenarios/hundred-tasks.mjs';
import { limit } from './scenarios/under-limit.mjs';
import { same } from './scenarios/same-work.mjs';
import { refusing } from './scenarios/refusing-gateway.mjs';
import { delay, known } from './scenarios/detection-delay.mjs';
import { waiting } from './scenarios/waiting-tasks.mjs';
import { synchronous } from './scenarios/synchronous.mjs';
import { processor } from './scenarios/processor-time.mjs';
import { downloads } from './scenarios/downloads.mjs';
import { uploads } from './scenarios/uploads.mjs';
import { size } from './scenarios/package-size.mjs';
import { growth } from './scenarios/growth.mjs';

export const scenarios: Scenario[] = [
	hundred,
	limit,
	same,
	refusing,
	delay,
	known,
	waiting,
	synchronous,
	processor,
	downloads,
	uploads,
	size,
	growth,
];
