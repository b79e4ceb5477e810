/**
 * Games of TextWorldExpress. POLICYLOOP_PYTHON names the interpreter (default: python3); without the package or Java, only the
 * errors about them are tested.
 */
import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { openEnvironment } from '../../../src/environments/catalogue/open.js';
import { isRemote, type RemoteEnvironment } from '../../../src/environments/remote/remote-environment.js';
import { parseExpressGame } from '../../../src/environments/remote/textworld-express.js';
import { played } from '../../agents/playing.js';
import { createScriptedModel } from '../../support/scripted-model.js';
import { expressTraces } from './golden.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const present =
  spawnSync(python, ['-c', 'import textworld_express']).status === 0 &&
  spawnSync('java', ['-version']).status === 0;
if (!present)
  process.stderr.write(`TextWorldExpress skipped: ${python} has no textworld_express, or no java\n`);

const env = { POLICYLOOP_PYTHON: python };
const opened: { close(): Promise<void> }[] = [];

async function open(id: string, options: Readonly<Record<string, unknown>> = {}): Promise<RemoteEnvironment> {
  const environment = await openEnvironment({ id, options }, env);
  if (!isRemote(environment)) throw new Error(`${id} is built in`);
  opened.push(environment);
  return environment;
}

afterEach(async () => {
  for (const environment of opened.splice(0)) await environment.close();
});

describe.runIf(present)('games of TextWorldExpress', { timeout: 120_000 }, () => {
  test('have the observations and states of all recorded traces', async () => {
    const all = expressTraces();
    const kind = ([{ game, params, fold }]: (typeof all)[number]) => `${game}?${params}?${fold}`;
    let states = 0;
    for (const one of new Set(all.map(kind))) {
      const traces = all.filter((trace) => kind(trace) === one);
      const [{ game, params, fold }] = traces[0]!;
      const id = `textworld-express:${game}?${params.replaceAll(',', '&')}`;
      const world = await open(id, { fold, max_episode_steps: -1 });
      const batch = world.batches[0]!;
      // All traces of a game at once: whole steps of many games a message.
      const first = await batch.reset(traces.map(([{ seed }]) => seed));
      const stateOf = (slot: number, observation: unknown) => ({ observation, ...batch.info!(slot) });
      for (const [slot, [start]] of traces.entries()) {
        expect(stateOf(slot, first[slot])).toEqual(expected(start));
        expect(batch.objective!(slot)).toBe(start.taskDescription);
        if (start.gold !== null && !['coin', 'twc'].includes(game))
          expect(await batch.gold!(slot)).toEqual(start.gold);
      }
      const longest = Math.max(...traces.map((trace) => trace.length));
      for (let step = 1; step < longest; step++) {
        const slots = [...traces.keys()].filter((slot) => traces[slot]![step] !== undefined);
        const moves = slots.map((slot) => ({ slot, action: traces[slot]![step]!.command! }));
        const steps = await batch.step(moves);
        for (const [i, slot] of slots.entries()) {
          const recorded = traces[slot]![step]!;
          expect(stateOf(slot, steps[i]!.observation)).toEqual(expected(recorded));
          expect(steps[i]).toMatchObject({
            reward: recorded.reward,
            terminated: recorded.done,
            truncated: false,
          });
          states++;
        }
      }
      await opened.pop()!.close();
    }
    expect(states).toBeGreaterThan(700);
  });

  test('can be won by the expert, and show a model the task at every step', async () => {
    const about = [
      ...['environment=textworld-express:coin?numLocations=3', `environment.python=${python}`, 'episodes=3'],
      ...['policy={kind: agent, prompts: text-world, history: 1}', 'maxSteps=4'],
    ];
    const expert = await played('agents/cooking', [...about, 'maxSteps=100', 'player=expert']);
    expect(expert.games.map(({ score, won }) => [score, won])).toEqual(Array(3).fill([1, true]));
    const model = createScriptedModel(() => 'look around');
    const { calls, games } = await played('agents/cooking', about, model);
    expect(games).toHaveLength(3);
    expect(calls.length).toBeGreaterThan(9);
    for (const { messages } of calls)
      expect(messages.filter(({ content }) => content.includes('find the coin'))).toHaveLength(1);
  });

  test('are truncated at their step limit; an unknown command is a step, but not a move', async () => {
    const world = await open('textworld-express:coin?numLocations=2', {
      includeDoors: 0,
      maxEpisodeSteps: 3,
    });
    const [batch] = world.batches;
    const step = async (action: string) => (await batch!.step([{ slot: 0, action }]))[0]!;
    const first = await batch!.reset([4]);
    const info = batch!.info!(0);
    expect(info).toMatchObject({ score: 0, maxScore: 1, won: false, lost: false, moves: 0 });
    expect(batch!.objective!(0)).toContain('find the coin');
    expect((await step('sing loudly')).observation).toContain('Unknown action');
    expect(batch!.info!(0)).toEqual(info);
    expect((await step('help')).observation).toBe(batch!.objective!(0));
    expect(await step('look around')).toMatchObject({ truncated: true, terminated: false });
    // Seeds from 2^31 on play the game of their lower bits.
    expect(await batch!.reset([2 ** 31 + 4])).toEqual(first);
    expect(await batch!.reset([5])).not.toEqual(first);
  });
});

describe('without TextWorldExpress', () => {
  test('an error names a Python interpreter that does not exist', async () => {
    const opening = openEnvironment({ id: 'textworld-express:coin', python: 'no-such-python' }, {});
    await expect(opening).rejects.toThrow(/no-such-python.*pip install textworld-express/s);
  });
});

describe('ids of games', () => {
  const parse = (id: string, options = {}) => parseExpressGame(`textworld-express:${id}`, options);

  test('parameters come after a question mark or from the options', () => {
    expect(parse('cookingworld?numLocations=3&includeDoors=1', { num_ingredients: 2, fold: 'test' })).toEqual(
      {
        game: 'cookingworld',
        params: 'numLocations=3,includeDoors=1,numIngredients=2',
        fold: 'test',
        maxSteps: 100,
      },
    );
    expect(parse('twc?includeDoors=true&max_episode_steps=-1')).toMatchObject({
      params: 'includeDoors=1',
      maxSteps: undefined,
    });
  });

  test.each([
    ['chess', 'environment'],
    ['coin?fold=holdout', 'fold'],
  ])('%s is rejected', (id, message) => {
    expect(() => parse(id)).toThrow(new RegExp(message));
  });
});

function expected(recorded: ReturnType<typeof expressTraces>[number][number]): object {
  const { observation, score, tasksuccess, taskfailure, numMoves, validActions } = recorded;
  return {
    observation,
    score,
    maxScore: 1,
    won: tasksuccess,
    lost: taskfailure,
    moves: numMoves,
    admissible: [...new Set(validActions)],
  };
}
