/** `npm run docs`: writes the pages that are made from the built package. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OPTIONS_PAGE, optionsPage } from './options-page.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
writeFileSync(join(root, OPTIONS_PAGE), optionsPage(root));
console.log(`Written: ${OPTIONS_PAGE}`);
