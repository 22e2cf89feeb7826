/** What is measured, in the order of the table. */
import type { Scenario } from './report/lines.mjs';
import { hundred } from './scenarios/hundred-tasks.mjs';
import { same } from './scenarios/same-work.mjs';
import { refusing } from './scenarios/refusing-gateway.mjs';
import { oneImage } from './scenarios/one-image.mjs';
import { waiting } from './scenarios/waiting-tasks.mjs';
import { processor } from './scenarios/processor-time.mjs';
import { downloads, uploads } from './scenarios/transfers.mjs';

export const scenarios: Scenario[] = [
	hundred,
	same,
	refusing,
	oneImage,
	waiting,
	processor,
	downloads,
	uploads,
];
