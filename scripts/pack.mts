/** `npm run pack`: the package as a file to install; that of an unreleased commit names it in its version. */
import { copyFileSync } from 'node:fs';
import { basename } from 'node:path';
import { packPackage } from '../harness/server/packed-package.mjs';

const { tarball } = await packPackage();
copyFileSync(tarball, basename(tarball));
console.log(basename(tarball));
