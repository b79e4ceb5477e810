import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A process plays one file of tests at a time. */
const prefix = `policyloop-${process.pid}-`;

/** A new directory, which is removed when the tests of this file have ended. */
export const temporaryDirectory = () => mkdtempSync(join(tmpdir(), prefix));

export function removeTemporaryDirectories(): void {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix)))
    rmSync(join(tmpdir(), name), { recursive: true, maxRetries: 5 });
}
