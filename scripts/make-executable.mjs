/** Makes the command executable after every build, so that links to it work (`npx policyloop` creates one). */
import { chmodSync } from 'node:fs';

chmodSync(new URL('../dist/src/cli.js', import.meta.url), 0o755);
