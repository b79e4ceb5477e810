import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { playFigures } from '../../src/agents/play-result.js';
import { temporaryDirectory } from '../support/experiments.js';
import { played } from './playing.js';

const place = temporaryDirectory();

function program(name: string, source: string): string {
  const file = join(place, name);
  writeFileSync(file, source);
  return `player=${file}`;
}

describe('a program as the player', () => {
  it('plays the same games as other players, with separate memory for each game', async () => {
    const balance = program(
      'balance.js',
      `function act(observation, memory) {
        memory.steps = (memory.steps ?? 0) + 1;
        if (memory.steps === 1 && observation[2] !== observation.poleAngle) throw new Error('names');
        return observation.poleAngle + observation.poleAngularVelocity > 0 ? 1 : 0;
      }`,
    );
    const { games, manifest } = await played('agents/cartpole', [
      balance,
      'episodes=3',
      'parallel=2',
      'maxSteps=200',
    ]);
    expect(playFigures(games).meanReturn).toBeGreaterThan(150);
    expect(manifest).toMatchObject({ model: 'player/balance.js', play: { player: 'balance.js' } });
    const random = await played('agents/cartpole', [
      'player=random',
      'episodes=3',
      'parallel=2',
      'maxSteps=200',
    ]);
    expect(random.games.map(({ seed, turns }) => [seed, turns[0]!.message])).toEqual(
      games.map(({ seed, turns }) => [seed, turns[0]!.message]),
    );
    expect(playFigures(random.games).meanReturn).toBeLessThan(60);
  });

  it('can return the commands of a text world', async () => {
    const looks = program(
      'looks.mjs',
      `function act(text) { return /kitchen/i.test(text) ? 'look' : 'inventory'; }`,
    );
    const { games } = await played('agents/cooking', [looks, 'episodes=1', 'maxSteps=3']);
    expect(games[0]!.turns.map(({ action }) => action)).toEqual(['look', 'inventory', 'inventory']);
  });

  it('fails with an error that names the file, and the line of a fault', async () => {
    const wrong = program('wrong.js', `function act(observation) {\n  return observation.speed.x;\n}`);
    await expect(played('agents/cartpole', [wrong, 'episodes=1'])).rejects.toThrow(/wrong\.js[\s\S]*line 2/);
    const invalid = program('invalid.js', 'function act( {');
    await expect(played('agents/cartpole', [invalid, 'episodes=1'])).rejects.toThrow(/invalid\.js/);
    await expect(played('agents/cartpole', ['player=./nobody', 'episodes=1'])).rejects.toThrow(/player/);
  });
});
