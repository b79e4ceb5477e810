/** Compiled games, played by ifvms if it is installed and the stories are next to the checkout. */

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { isStory } from '../../../src/environments/text/textworld/story.js';
import { temporaryDirectory } from '../../support/experiments.js';
import {
  type GoldenStep,
  goldenGame,
  goldenProbe,
  goldenStories,
  goldenStory,
  goldenTraces,
} from './golden.js';

const installed = (() => {
  try {
    return createRequire(import.meta.url).resolve('ifvms') !== '';
  } catch {
    return false;
  }
})();
const present = installed && goldenStories.length > 0;
if (!present) process.stderr.write('compiled games skipped: ifvms or their stories are not there\n');

const compact = (text: string) => text.replaceAll(/\s+/g, '');

function written(name: string, withJson: boolean): string {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, `${name}.z8`), goldenStory(name));
  if (withJson) writeFileSync(join(folder, `${name}.json`), JSON.stringify(goldenGame(name)));
  return `textworld:${join(folder, `${name}.z8`)}`;
}

describe.runIf(present)('compiled games', { timeout: 120_000 }, () => {
  const played = goldenStories.map((name) => [name] as const);

  test.each(played)('%s: texts and states match the recording', async (name) => {
    const world = await makeEnvironment(written(name, true), { max_episode_steps: -1 });
    for (const trace of [goldenProbe(name), ...goldenTraces(name)]) {
      const start = world.reset(1);
      expect(compact(String(start))).toBe(compact(trace[0]!.z8.text!));
      for (const recorded of trace.slice(1)) {
        const { observation } = world.step(recorded.command!);
        expect({ text: compact(String(observation)), ...world.info!() }).toEqual(expected(recorded));
      }
    }
  });

  test.each(played.slice(0, 2))(
    '%s without its .json: the texts are the same, but moves and admissible commands are unknown',
    async (name) => {
      const world = await makeEnvironment(written(name, false), { max_episode_steps: -1 });
      for (const trace of [goldenProbe(name), goldenTraces(name).at(-1)!]) {
        world.reset(1);
        for (const recorded of trace.slice(1)) {
          const { observation, terminated } = world.step(recorded.command!);
          expect(compact(String(observation))).toBe(compact(recorded.z8.text!));
          expect(world.info!()).toMatchObject({ maxScore: null, moves: null, admissible: null });
          const { score, won, lost, done } = recorded.z8;
          const end = { won, lost, terminated: done };
          expect({ won: world.info!().won, lost: world.info!().lost, terminated }).toEqual(end);
          if (!terminated) expect(world.info!().score).toBe(score);
        }
      }
    },
  );

  test('two games run independently, and commands such as quit, save and undo have no effect', async () => {
    const [name] = goldenStories;
    const [one, other] = [
      await makeEnvironment(written(name!, true)),
      await makeEnvironment(written(name!, true)),
    ];
    const first = one.reset();
    expect(other.reset()).toBe(first);
    const before = one.info!();
    for (const command of ['quit', 'save', 'undo', ' RESTART ', 'restore\nlook', '']) one.step(command);
    expect(one.info!()).toEqual(before);
    const [move] = one.gold!()!;
    one.step(move!);
    expect(one.info!().moves).toBe(1);
    expect(other.info!().moves).toBe(0);
    expect(other.step('look').observation).not.toBe('');
    expect(other.info!().moves).toBe(1);
  });
});

test.skipIf(installed)('without ifvms, an error says how to install it', async () => {
  const file = join(temporaryDirectory(), 'game.z8');
  writeFileSync(file, Uint8Array.of(8, 0, 0));
  await expect(makeEnvironment(`textworld:${file}`)).rejects.toThrow(/npm install ifvms/);
});

test('a missing file and a file that is not a story are rejected', async () => {
  const file = join(temporaryDirectory(), 'game.z8');
  await expect(makeEnvironment(`textworld:${file}`)).rejects.toThrow('the game file does not exist');
  writeFileSync(file, 'Not a story');
  await expect(makeEnvironment(`textworld:${file}`)).rejects.toThrow("isn't a Z-machine story");
  expect([isStory('a.z8'), isStory('b.Z5'), isStory('c.json')]).toEqual([true, true, false]);
});

function expected({ z8 }: GoldenStep): object {
  const { text, score, won, lost, moves, admissible_commands } = z8;
  return {
    text: compact(text!),
    score,
    won,
    lost,
    moves,
    maxScore: expect.any(Number),
    admissible: admissible_commands,
  };
}
