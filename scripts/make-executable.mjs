/** So that links to the bin (`npx policyloop` makes one in its cache) work after every build. */
import { chmodSync } from 'node:fs';

chmodSync(new URL('../dist/src/cli.js', import.meta.url), 0o755);
