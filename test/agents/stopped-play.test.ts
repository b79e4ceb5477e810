import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { requestStop } from '../../src/runs/stop-request.js';
import { temporaryDirectory } from '../support/experiments.js';
import { played } from './playing.js';

const games = ['player=random', 'episodes=400', 'parallel=1', 'maxSteps=40'];

it('an agent run that is stopped and resumed records the same games as an uninterrupted one', async () => {
  const whole = await played('agents/cartpole', games);
  const path = join(temporaryDirectory(), 'play');
  const stopped = await played('agents/cartpole', games, undefined, {
    path,
    onEvent(event) {
      if (event.kind === 'game-finished' && event.game.iteration === 3) {
        requestStop(path, false);
        // Longer than a process takes to see the request.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      }
    },
  });
  expect(stopped.manifest.status).toBe('interrupted');
  expect(stopped.manifest.iterations.done).toBeLessThan(400);
  const { manifest } = await played('agents/cartpole', games, undefined, { path });
  expect(manifest.status).toBe('completed');
  const episodes = (of: string) => readFileSync(join(of, 'episodes.jsonl'), 'utf8');
  expect(episodes(path)).toBe(episodes(whole.path));
});
