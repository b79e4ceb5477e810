/** docs/tutorials/one-iteration.md shows the output of a run, which this test repeats. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { oneIteration, playShownRun, shownIteration } from '../../scripts/docs/one-iteration.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { root } from './blocks.js';

it('docs/tutorials/one-iteration.md shows what the embedded model does', async () => {
  const run = await playShownRun(join(temporaryDirectory(), 'one'), shownIteration + 1);
  const { page, picture } = await oneIteration(run);
  expect(page).toBe(readFileSync(join(root, 'docs/tutorials/one-iteration.md'), 'utf8'));
  expect(picture).toBe(readFileSync(join(root, 'docs/pictures/one-iteration.svg'), 'utf8'));
});
