import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RunEvent } from '../../src/runs/events.js';
import { steer } from '../../src/runs/listing/steer.js';
import { readManifest } from '../../src/runs/reader.js';
import { askOf, controlledText } from '../../src/runs/requests.js';
import { temporaryDirectory } from '../support/experiments.js';
import { played } from './playing.js';

const games = ['player=random', 'episodes=5', 'parallel=1', 'maxSteps=6'];

it('a play that is paused, resumed and stopped logs each command, and completes with the same games', async () => {
  const whole = await played('agents/cartpole', games);
  const path = join(temporaryDirectory(), 'play');
  const told: RunEvent[] = [];
  let finished = 0;
  const stopped = await played('agents/cartpole', games, undefined, {
    path,
    onEvent(event) {
      if (event.kind === 'controlled') {
        told.push(event);
        if (event.action === 'pause') {
          setTimeout(() => {
            expect(readManifest(path).paused).toBe(true);
            expect(finished).toBe(2);
            askOf(path, { action: 'set', overrides: ['limits.calls=3'] });
            askOf(path, { action: 'resume' });
          }, 600);
        }
      }
      if (event.kind !== 'game-finished') return;
      finished++;
      if (finished === 2) askOf(path, { action: 'pause' });
      if (finished === 3) askOf(path, { action: 'stop', now: false });
    },
  });
  expect(told).toMatchObject([
    { action: 'pause', iteration: 2, unit: 'game' },
    { action: 'set', changes: [] },
    { action: 'resume', iteration: 2 },
    { action: 'stop', iteration: 3 },
  ]);
  expect(controlledText(told[0] as never)).toBe('paused after game 2');
  expect(stopped.manifest).toMatchObject({ status: 'interrupted', iterations: { done: 3 } });
  expect(stopped.manifest.paused).toBeUndefined();
  await expect(steer(path, { action: 'pause' }, 1)).rejects.toThrow(/this run isn't running/);
  const { manifest } = await played('agents/cartpole', games, undefined, { path });
  expect(manifest.status).toBe('completed');
  const episodes = (of: string) => readFileSync(join(of, 'episodes.jsonl'), 'utf8');
  expect(episodes(path)).toBe(episodes(whole.path));
});
