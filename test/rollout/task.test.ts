import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { EpisodeBatch, RemoteEnvironment } from '../../src/environments/remote/remote-environment.js';
import { makeTask, withRewardModule } from '../../src/rollout/task.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const folder = temporaryDirectory();
let written = 0;
function moduleOf(reward: string): string {
  const file = join(folder, `reward-${++written}.mjs`);
  writeFileSync(file, `export default { create: () => ${reward} };\n`);
  return file;
}
const balancing = (reward: string) => makeTask({ id: 'CartPole-v1' }, moduleOf(reward));

it('a reward function sees each transition, and the rest of the environment stays the same', async () => {
  const plain = await makeEnvironment('CartPole-v1');
  const task = await balancing(
    '({ before, action, observation: [x], reward }) => reward + action + x - before[0]',
  );
  const { id, maxSteps, observationSpace, stepSeconds } = plain;
  expect(task).toMatchObject({ id, maxSteps, observationSpace, stepSeconds });
  let [before] = plain.reset(1) as number[];
  expect((task.reset(1) as number[])[0]).toBe(before);
  for (const action of [1, 0, 1]) {
    const step = plain.step(action);
    const [x] = step.observation as number[];
    expect(task.step(action)).toEqual({ ...step, reward: 1 + action + x! - before! });
    before = x;
  }
  expect(task.frame!()).toEqual(plain.frame!());
});

it('a reward function sees the transitions of each parallel episode of a remote environment', async () => {
  const batch: EpisodeBatch = {
    slotCount: 2,
    reset: async (seeds) => seeds,
    step: async (moves) =>
      moves.map(({ action }) => ({ observation: action, reward: 0, terminated: false, truncated: false })),
  };
  const environment = { id: 'counter', batches: [batch] } as unknown as RemoteEnvironment;
  const task = await withRewardModule(
    environment,
    moduleOf('({ before, observation }) => observation - before'),
  );
  const [own] = (task as RemoteEnvironment).batches;
  expect(await own!.reset([5, 7])).toEqual([5, 7]);
  expect(await own!.step([{ slot: 1, action: 10 }])).toMatchObject([{ reward: 3 }]);
  const later = await own!.step([1, 0].map((slot) => ({ slot, action: 11 + slot })));
  expect(later).toMatchObject([{ reward: 2 }, { reward: 6 }]);
});

it.each([
  ['() => NaN', /^reward-\d+\.mjs: the reward of a step is NaN\n {2}expected: a finite number$/],
  ['() => { throw new Error("odd"); }', /^reward-\d+\.mjs:1: the reward function threw: odd$/],
  ['() => { throw "odd"; }', /^reward-\d+\.mjs: the reward function threw: odd$/],
])('a step fails with the reward function %s', async (reward, message) => {
  const task = await balancing(reward);
  task.reset(1);
  expect(() => task.step(1)).toThrow(message);
  await expect(balancing('3')).rejects.toThrow('create returned no reward function');
});
