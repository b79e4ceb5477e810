import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { withPath } from './json-lines.js';

/**
 * Replaces a file in one step: a crash leaves the old one or the new one, and what fails the old one.
 * @throws what the system says, with the path
 */
export function replaceFile(path: string, content: string | Uint8Array): void {
  const draft = `${path}.new`;
  try {
    writeFileSync(draft, content);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw withPath(error, draft);
  }
}
