import { expect, it } from 'vitest';
import { playFigures } from '../../src/play/play-result.js';
import { played } from './playing.js';

it('no gold path of its fold is longer than its limit of steps', async () => {
  const { games } = await played('agents/cooking', [
    'player=expert',
    'episodes=300',
    'seed=9',
    'parallel=50',
  ]);
  expect(playFigures(games)).toMatchObject({ meanScore: 1, truncated: 0 });
});
