/** `npm run docs`: writes the files that are made from the built package. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NAMES_FILE, namesFile } from './names-file.mjs';
import { outputSchemas } from './output-schemas.mjs';
import { OPTIONS_PAGE, optionsPage } from './options-page.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
writeFileSync(join(root, OPTIONS_PAGE), optionsPage(root));
for (const [file, text] of outputSchemas(root)) writeFileSync(join(root, file), text);
writeFileSync(join(root, NAMES_FILE), namesFile(root));
console.log(`Written: ${OPTIONS_PAGE}, ${NAMES_FILE}, and the schemas of the image nodes`);
