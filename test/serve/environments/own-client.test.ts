/** Environments of this program, played by `openenv:` through its own server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localArena, remoteArena } from '../../../src/agents/player.js';
import { makeEnvironment, openEnvironment } from '../../../src/environments/catalogue/open.js';
import { isRemote } from '../../../src/environments/remote/remote-environment.js';
import { createPolicyFamily } from '../../../src/policies/families.js';
import { evaluate } from '../../../src/rollout/evaluation.js';
import { nativeTrace, startServer } from './environment-server.js';

const numeric = ['CartPole-v1', 'FrozenLake-v1', 'Pendulum-v1', 'Acrobot-v1'] as const;
let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer([...numeric, 'text:cooking']);
});
afterAll(() => server.close());

async function through(name: string, options: object, parallel = 1) {
  const { url } = server.environments.find((served) => served.name === name)!;
  const id = `openenv:${url.replace('http', 'ws')}/ws`;
  const environment = await openEnvironment({ id, options: { ...options }, parallel }, {});
  if (!isRemote(environment)) throw new Error('it is built in');
  return environment;
}

describe('numeric policies', () => {
  it.each(numeric)('earn the same returns in %s as without a server', async (id) => {
    const native = await makeEnvironment(id);
    const { observationSpace, actionSpace, maxSteps } = native;
    if (observationSpace.kind === 'text' || observationSpace.kind === 'tuple') throw new Error('no numbers');
    const observation =
      observationSpace.kind === 'discrete'
        ? { n: observationSpace.n }
        : { length: observationSpace.low.length };
    const action = actionSpace.kind === 'discrete' ? { n: actionSpace.n } : { low: [-2], high: [2] };
    const remote = await through(id, { observation, action, max_steps: maxSteps }, 3);
    const config =
      observationSpace.kind === 'discrete'
        ? ({ kind: 'q-table', form: 'actions', low: -1, high: 1, decimals: 1 } as const)
        : ({ kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const);
    const seeds = [5, 6, 7, 8, 9];
    const evaluated = async (environment: typeof native | typeof remote) => {
      const family = createPolicyFamily(config, environment);
      const { count, kind } = family.parameters;
      const parameters = Array.from({ length: count }, (_, i) => (kind === 'integer' ? i % 4 : (i % 5) - 2));
      return evaluate({ environment, family, maxSteps: 120, record: 'all' }, parameters, seeds);
    };
    const played = await evaluated(remote);
    expect(played).toEqual(await evaluated(native));
    const told = played.episodes.map(({ observations }) => JSON.stringify(observations));
    expect(new Set(told).size).toBeGreaterThan(1);
    await remote.close();
  });
});

describe('agents', () => {
  it('see the texts, score, commands and task of a text world', async () => {
    const text = { text: true };
    const remote = await through('text:cooking', { observation: text, action: text });
    const [there, here] = [remoteArena(remote), localArena([await makeEnvironment('text:cooking')])];
    const { actions } = await nativeTrace('text:cooking', 9);
    expect(await there.batch.reset([9])).toEqual(await here.batch.reset([9]));
    expect(there.batch.objective!(0)).toBe(here.batch.objective!(0));
    for (const action of actions) {
      const move = [{ slot: 0, action }];
      expect(await there.batch.step(move)).toEqual(await here.batch.step(move));
      expect(there.batch.info!(0)).toEqual(here.batch.info!(0));
    }
    expect(actions.length).toBeGreaterThan(3);
    await there.close();
    await here.close();
  });

  it('get neither info nor an objective from a server that sends none', async () => {
    const remote = await through('CartPole-v1', { observation: { length: 4 }, action: { n: 2 } });
    const [batch] = remote.batches;
    await batch!.reset([1]);
    expect(batch!.info).toBeUndefined();
    expect(batch!.objective!(0)).toBeUndefined();
    await remote.close();
  });
});

it('the error for a missing text observation names its field', async () => {
  const remote = await through('CartPole-v1', { observation: { text: true }, action: { n: 2 } });
  await expect(remote.batches[0]!.reset([1])).rejects.toThrow(/field text.*environment.options.fields/);
  await remote.close();
});
