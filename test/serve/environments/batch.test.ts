/** Batches: environments that are reset and stepped with one message, and Gymnasium's ways to start the next episode. */
import { describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import type { Environment, Step } from '../../../src/environments/environment.js';
import { Batch, mostInBatch } from '../../../src/serve/environments/batch.js';
import { Refusal } from '../../../src/serve/environments/refusal.js';
import { connect, startServer } from './environment-server.js';

const short = () => makeEnvironment('CartPole-v1', { max_episode_steps: 12 });
const seeds = [1, 2, 3];
const actionsAt = (step: number) => [1, step % 2, step % 3 === 0 ? 1 : 0];
const isEnd = ({ terminated, truncated }: Step) => terminated || truncated;

const columns = (steps: readonly Step[]) => ({
  observations: steps.map(({ observation }) => observation),
  rewards: steps.map(({ reward }) => reward),
  terminated: steps.map(({ terminated }) => terminated),
  truncated: steps.map(({ truncated }) => truncated),
});

/** A batch, and the same environments without one, after the same reset. */
async function begun(autoreset: string) {
  const batch = new Batch(short);
  const environments = await Promise.all(seeds.map(short));
  const none = { reward: 0, terminated: false, truncated: false };
  const first = environments.map((own, i) => ({ observation: own.reset(seeds[i]), ...none }));
  expect(await batch.reset({ seeds, autoreset })).toEqual(columns(first));
  const reset = (own: Environment): Step => ({ observation: own.reset(), ...none });
  return { batch, environments, reset };
}

describe('a batch', () => {
  it('starts the next episode on the step after the end and ignores the action of that step', async () => {
    const { batch, environments, reset } = await begun('next-step');
    const seen: Step[] = [];
    let ended = [false, false, false];
    for (let step = 0; step < 60; step++) {
      const actions = actionsAt(step).map((action, i) => (ended[i] ? 99 : action));
      const steps = environments.map((own, i) => (ended[i] ? reset(own) : own.step(actions[i]!)));
      expect(batch.step({ actions })).toEqual(columns(steps));
      ended = steps.map(isEnd);
      seen.push(...steps);
    }
    expect(seen.filter(({ terminated }) => terminated).length).toBeGreaterThan(2);
    expect(seen.filter(({ truncated }) => truncated).length).toBeGreaterThan(2);
  });

  it('starts the next episode in the same step on request, and also returns the last observation', async () => {
    const { batch, environments, reset } = await begun('same-step');
    let ends = 0;
    for (let step = 0; step < 60; step++) {
      const steps = environments.map((own, i) => own.step(actionsAt(step)[i]!));
      const shown = steps.map((own, i) => (isEnd(own) ? reset(environments[i]!) : own));
      const final = steps.map((own) => (isEnd(own) ? own.observation : null));
      expect(batch.step({ actions: actionsAt(step) })).toEqual({
        ...columns(steps),
        observations: shown.map(({ observation }) => observation),
        ...(steps.some(isEnd) && { final_observations: final }),
      });
      ends += steps.filter(isEnd).length;
    }
    expect(ends).toBeGreaterThan(10);
    expect(batch).toMatchObject({ steps: 180, episodes: 3 + ends });
  });

  it('rejects a step after the end of an episode if autoreset is disabled', async () => {
    const { batch } = await begun('disabled');
    const step = () => batch.step({ actions: [1, 1, 1] });
    let at = -1;
    while (at < 0) at = step().terminated.indexOf(true);
    expect(step).toThrow(`the episode of environment ${at} has ended; reset the environments`);
    await batch.reset({ seeds });
    expect(step().rewards).toEqual([1, 1, 1]);
  });

  it('has one environment per seed, and continues random streams that get no seed', async () => {
    const batch = new Batch(short);
    const [a, b] = [await short(), await short()];
    expect((await batch.reset({ seeds: [4, 5] })).observations).toEqual([a.reset(4), b.reset(5)]);
    expect((await batch.reset({ seeds: [null] })).observations).toEqual([a.reset()]);
    expect((await batch.reset({ seeds: [6, 7] })).observations).toEqual([a.reset(6), b.reset(7)]);
  });

  it.each<readonly [string, object, RegExp]>([
    ['too few actions', { actions: [1] }, /^actions: has 1 action for 3 environments$/],
    ['an action out of range', { actions: [1, 2, 1] }, /^actions\.1: is out of range.*expected: 0–1$/],
    ['an action that is no number', { actions: [null, 1, 1] }, /^actions\.0: .*must be integers/],
    ['what is no list', { actions: 1 }, /^actions: must be a list of actions, one per environment$/],
  ])('rejects %s without stepping any environment', async (_, data, message) => {
    const { batch, environments } = await begun('next-step');
    expect(() => batch.step(data)).toThrow(message);
    expect(batch.step({ actions: [0, 0, 0] })).toEqual(columns(environments.map((own) => own.step(0))));
  });

  it('rejects invalid seeds and modes, and a step before the first reset', async () => {
    const batch = new Batch(short);
    expect(() => batch.step({ actions: [] })).toThrow(/reset the environments first/);
    const size = /seeds: must have 1 to 1024 seeds/;
    await expect(batch.reset({ seeds: [] })).rejects.toThrow(size);
    await expect(batch.reset({ seeds: Array(mostInBatch + 1).fill(1) })).rejects.toThrow(size);
    await expect(batch.reset({ seeds: 3 })).rejects.toThrow(size);
    await expect(batch.reset({ seeds: [-1] })).rejects.toThrow(/seeds\.0: must be a whole number/);
    await expect(batch.reset({ seeds, autoreset: 'never' })).rejects.toThrow(/autoreset/);
  });

  it('needs a reset after an environment has failed', async () => {
    let broken = true;
    const batch = new Batch(async () => {
      const own = await short();
      const step = own.step.bind(own);
      own.step = (action) => {
        if (broken) throw new Error('out of order');
        return step(action);
      };
      return own;
    });
    await batch.reset({ seeds });
    expect(() => batch.step({ actions: [1, 1, 1] })).toThrow(Refusal);
    broken = false;
    expect(() => batch.step({ actions: [1, 1, 1] })).toThrow(/reset the environments first/);
    await batch.reset({ seeds });
    expect(batch.step({ actions: [1, 1, 1] }).rewards).toEqual([1, 1, 1]);
  });

  it('closes its environments if one cannot be created', async () => {
    let open = 0;
    const batch = new Batch(async () => {
      if (open === 2) throw new Error('out of memory');
      open++;
      return Object.assign(await short(), { close: () => open-- });
    });
    await expect(batch.reset({ seeds })).rejects.toThrow('environment 3 of 3: out of memory');
    expect(open).toBe(0);
    expect((await batch.reset({ seeds: [1] })).rewards).toEqual([0]);
  });

  it('is not available over a WebSocket', async () => {
    const server = await startServer(['CartPole-v1']);
    const client = await connect(server.environments[0]!.url);
    await client.reset({ seed: 1 });
    expect(await client.ask({ type: 'reset_batch', data: { seeds: [1, 1] } })).toMatchObject({
      type: 'error',
      data: {
        code: 'UNKNOWN_TYPE',
        message: expect.stringMatching(/use one of: reset, step, state, close$/),
      },
    });
    expect((await client.step(1)).reward).toBe(1);
    await client.close();
    await server.close();
  });
});
