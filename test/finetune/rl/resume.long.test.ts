import { appendFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { OpenedLearning } from '../../../finetune/rl/assemble.js';
import type { OnlineOutcome } from '../../../finetune/rl/online.js';
import { packageRoot } from '../../../src/base/package.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { checkpointIn, crashing, learned, tinyConfig } from './tiny-learning.js';

const written = {
  environment: 'bandit',
  updates: 7,
  groups: 2,
  groupSize: 16,
  epochs: 2,
  checkpointEvery: 2,
  evaluation: { every: 3, episodes: 16 },
  schedule: 'linear',
};

const inRollout = (at: number) => (learning: OpenedLearning) => ({
  ...learning,
  task: { ...learning.task, play: crashing(learning.task.play, at) },
});

const inUpdate = (at: number) => (learning: OpenedLearning) => {
  const { sessions } = learning;
  const training = { ...sessions.training, run: crashing(sessions.training.run, at) };
  return { ...learning, sessions: { ...sessions, training } };
};

describe('interrupted training', () => {
  it.each([
    // Calls of an update: one to play, two to train; evaluations play, too.
    ['in a rollout', inRollout(7), {}],
    ['between the two steps of an update', inUpdate(10), {}],
    ['between two minibatches', inUpdate(18), { minibatches: 2, objective: { kind: 'ppo' } }],
    ['before the first checkpoint', inUpdate(1), { objective: { kind: 'grpo', entropy: { from: 0.1 } } }],
  ])('resumes bit for bit after a crash %s', async (_, crash, more) => {
    const [whole, cut] = [temporaryDirectory(), temporaryDirectory()];
    const config = (folder: string) => tinyConfig({ ...written, ...more }, folder);
    const expected = await learned(config(whole));
    await expect(learned(config(cut), {}, crash)).rejects.toThrow('the process ends here');
    const resumed = await learned(config(cut));
    expect(checkpointIn(cut).equals(checkpointIn(whole))).toBe(true);
    expect(resumed.steps.at(-1)).toEqual(expected.steps.at(-1));
    expect(resumed.best).toEqual(expected.best);
    expect(resumed.samples.length).toBeGreaterThan(0);
    expect(resumed.samples).toEqual(expected.samples.slice(-resumed.samples.length));
  });

  it('writes a checkpoint when the user stops it, and resumes from there bit for bit', async () => {
    const [whole, cut] = [temporaryDirectory(), temporaryDirectory()];
    await learned(tinyConfig(written, whole));
    const { ended, step } = await learned(tinyConfig(written, cut), { stop: () => true });
    expect({ ended, step }).toEqual({ ended: 'interrupted', step: 1 });
    const { events } = await learned(tinyConfig(written, cut));
    expect(events[0]).toMatchObject({ kind: 'start', step: 1 });
    expect(checkpointIn(cut).equals(checkpointIn(whole))).toBe(true);
  });

  it('does not resume with another learning rate', async () => {
    const folder = temporaryDirectory();
    await learned(tinyConfig({ ...written, updates: 1 }, folder));
    await expect(learned(tinyConfig({ ...written, updates: 1, learningRate: 1e-3 }, folder))).rejects.toThrow(
      /different settings/,
    );
  });

  it('does not resume with an edited environment or prompt set', async () => {
    const folder = temporaryDirectory();
    const [environment, prompts] = [join(folder, 'game.mjs'), join(folder, 'prompts')];
    cpSync(join(packageRoot(), 'templates', 'environment.js'), environment);
    mkdirSync(join(prompts, 'partials'), { recursive: true });
    writeFileSync(join(prompts, 'partials', 'shown.hbs'), '{{observation}}');
    for (const name of ['system', 'observation', 'ask-again'])
      writeFileSync(join(prompts, `${name}.hbs`), name === 'observation' ? '{{> shown}}' : '');
    const own = { environment, agent: { maxTokens: 1, fallback: 'first', history: 0, maxTurns: 2, prompts } };
    const config = () => tinyConfig({ ...written, ...own, updates: 1 }, folder);
    await learned(config());
    await learned(config());
    const files = [environment, join(prompts, 'observation.hbs'), join(prompts, 'partials', 'shown.hbs')];
    for (const file of files) {
      const before = readFileSync(file, 'utf8');
      appendFileSync(file, '\n');
      await expect(learned(config())).rejects.toThrow(/different settings/);
      writeFileSync(file, before);
    }
    await learned(config());
  });
});

it('training evaluates and writes a checkpoint before it ends at a limit', async () => {
  const log: string[] = [];
  const { ended, step } = await learned(tinyConfig(written), {
    onEvent: (event) => void log.push(`${event.kind} ${event.step}`),
    isSpent: () => log.includes('step 2'),
  });
  expect({ ended, step }).toEqual({ ended: 'early', step: 2 });
  expect(log.slice(-4)).toEqual(['step 2', 'evaluation 2', 'checkpoint 2', expect.stringMatching(/^final /)]);
});

it('training returns the best weights; a rerun with result=last returns the last weights', async () => {
  const folder = temporaryDirectory();
  const config = (more: object) => tinyConfig({ ...written, ...more }, folder);
  const starts: (readonly number[])[] = [];
  const worse = (learning: OpenedLearning) => ({
    ...learning,
    task: {
      ...learning.task,
      measure: async (_: unknown, own: readonly number[]) => ({
        values: [1 - starts.push(own)],
        samples: [],
      }),
    },
  });
  const values = ({ parameters }: OnlineOutcome) => parameters.map((one) => [...one.values]);
  const best = await learned(config({}), {}, worse);
  expect(best.best?.step).toBe(0);
  // The result's figure comes from episodes that no evaluation has played.
  const [fresh, ...held] = starts.toReversed();
  expect(new Set(held.map(String)).size).toBe(1);
  expect(fresh).toHaveLength(16);
  expect(fresh!.filter((start) => held[0]!.includes(start))).toEqual([]);
  expect(best.confirmed).toEqual({ meanReward: 1 - starts.length, episodes: 1 });
  expect(best.events.at(-1)).toMatchObject({ kind: 'final', step: 0, returns: [1 - starts.length] });
  const after = await learned(config({ result: 'last' }), {}, worse);
  expect(after).toMatchObject({ ended: 'complete', step: 7, steps: [], best: { step: 0 } });
  const last = await learned(tinyConfig({ ...written, result: 'last' }), {}, worse);
  expect(values(after)).toEqual(values(last));
  expect(values(after)).not.toEqual(values(best));
});
