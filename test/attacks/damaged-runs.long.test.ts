/** A part of what `npm run test:attacks -- --kind 'damaged runs'` does with every file: each file of a run, damaged in turn. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { attacked, damagesIn, targetsIn, writeFixtures } from '../../scripts/attacks/damaged.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { openLooks } from './looks.js';

it('commands handle damaged run files in time, within the memory limit and with a clear error', async () => {
  const [root, cwd] = [temporaryDirectory(), temporaryDirectory()];
  const fixtures = await writeFixtures(root);
  const damages = Object.entries(damagesIn(temporaryDirectory(), 80e6));
  const targets = targetsIn(root, fixtures).filter(({ fixture }) =>
    ['run', 'training'].includes(fixture.name),
  );
  expect(targets.length).toBeGreaterThan(20);
  mkdirSync(join(cwd, 'buffers'));
  const { close, looksAt } = await openLooks(cwd);
  const failures: string[] = [];
  for (const [i, target] of targets.entries())
    for (const [j, [name, damage]] of damages.entries()) {
      if ((i + j) % 4 > 0) continue;
      const looks = looksAt(target.fixture.looked).filter(({ name: look }) =>
        /^(?:list .*true|show .*"json":true|report|view .*(?:page|course)\?of=[^&]*$|MCP show_run)/.test(
          look,
        ),
      );
      expect(looks.length).toBeGreaterThan(5);
      const wrong = await attacked(target, damage, { cwd, root, looks });
      if (wrong !== undefined) failures.push(`${name}: ${wrong}`);
    }
  await close();
  expect(failures).toEqual([]);
}, 240_000);
