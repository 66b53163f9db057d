// Runs pyright with the given arguments. The packages are beside this script.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const pyright = fileURLToPath(new URL('node_modules/pyright/index.js', import.meta.url));
const run = spawnSync(process.execPath, [pyright, ...process.argv.slice(2)], { stdio: 'inherit' });
process.exit(run.status ?? 1);
