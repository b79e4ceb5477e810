import { expect, it } from 'vitest';
import { playFigures } from '../../src/agents/play-result.js';
import { played } from './playing.js';

it('every gold path in 300 games of agents/cooking fits into the step limit', async () => {
  const overrides = ['player=expert', 'episodes=300', 'seed=9', 'parallel=50'];
  const { games } = await played('agents/cooking', overrides);
  expect(playFigures(games)).toMatchObject({ meanScore: 1, truncated: 0 });
});
