/** A run of the tests has a temporary directory of its own, and fails when something is left there. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from '../../scripts/web-app.js';
import { buildFolder } from './built.js';

const prefix = 'policyloop-tests-';

export default function setup(): (() => void) | undefined {
  // Each project of a run comes here.
  if (process.env.TMPDIR?.includes(prefix)) return undefined;
  // Tests see the app as it is now.
  bundle('dist/web');
  const place = mkdtempSync(join(tmpdir(), prefix));
  process.env.TMPDIR = place;
  return () => {
    rmSync(buildFolder(), { recursive: true, force: true });
    // The loader that runs TypeScript in programs of their own keeps a cache.
    const left = readdirSync(place, { recursive: true, encoding: 'utf8' }).filter(
      (name) => !name.startsWith('tsx-'),
    );
    rmSync(place, { recursive: true });
    if (left.length === 0) return;
    process.stderr.write(`The tests left in their temporary directory: ${left.slice(0, 12).join(', ')}\n`);
    process.exitCode = 1;
  };
}
