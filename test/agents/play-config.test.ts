import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadPlayConfig } from '../../src/agents/play-config.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

it('keys that no longer exist are ignored in the config of a recorded agent run, and rejected in a new config', () => {
  const file = join(temporaryDirectory(), 'config.yaml');
  writeFileSync(
    file,
    'environment: text:cooking\nplayer: random\nepisodes: 2\nwatch: 1\nlimits: { hours: 3 }\n',
  );
  const { config } = loadPlayConfig(file, [], '', true);
  expect(config).toMatchObject({ environment: { id: 'text:cooking' }, episodes: 2 });
  expect(Object.keys({ ...config, ...config.limits })).not.toContain('watch');
  expect(config.limits).not.toHaveProperty('hours');
  expect(() => loadPlayConfig(file)).toThrow(/watch: unknown key/);
});
