/** OpenEnv's own client against our server (pip install openenv). */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { nativeTrace, type Seen, startServer, turnOf } from './environment-server.js';
import { gold, hasPackages, python, said, writeCookingClass } from './python-programs.js';

const present = hasPackages('openenv');
if (!present) process.stderr.write(`OpenEnv's client skipped: ${python} has no openenv\n`);

describe.skipIf(!present)("OpenEnv's Python client", () => {
  const ids = ['CartPole-v1', 'text:cooking', 'FrozenLake-v1', 'Pendulum-v1'];
  let server: Awaited<ReturnType<typeof startServer>>;
  beforeAll(async () => {
    server = await startServer(ids);
  });
  afterAll(() => server.close());

  it('plays the same episodes as without a server, one by one and in parallel, and validates the server', async () => {
    const games = [...ids, 'CartPole-v1'].map((id, i) => ({ id, seed: 30 + i }));
    const traces = await Promise.all(games.map(({ id, seed }) => nativeTrace(id, seed, {}, 60)));
    const urls = games.map(({ id }) => server.environments.find(({ name }) => name === id)!.url);
    const task = { games: games.map(({ seed }, i) => ({ url: urls[i], seed, actions: traces[i]!.actions })) };
    const script = join(import.meta.dirname, 'python', 'client.py');
    const answer = JSON.parse(await said([script], task)) as {
      alone: readonly { seen: readonly Seen[]; state: Record<string, unknown> }[];
      together: readonly (readonly Seen[])[];
      refused: { message: string; next: Seen };
      valid: readonly { passed: boolean }[];
    };
    const native = traces.map(({ turns }) => turns);
    expect(answer.alone.map(({ seen }) => seen.map(turnOf))).toEqual(native);
    expect(answer.together.map((seen) => seen.map(turnOf))).toEqual(native);
    for (const [i, { state }] of answer.alone.entries()) {
      const { actions, turns } = traces[i]!;
      const { id: environment, seed } = games[i]!;
      expect(state).toMatchObject({ environment, seed, step_count: actions.length });
      expect(state.episode_return).toBeCloseTo(
        turns.reduce((sum, { reward }) => sum + (reward ?? 0), 0),
        9,
      );
    }
    expect(answer.refused.message).toMatch(/out of range for CartPole-v1.*VALIDATION_ERROR/);
    expect(answer.refused.next).toMatchObject({ reward: 1, done: false });
    expect(answer.valid.map(({ passed }) => passed)).toEqual(games.map(() => true));
  }, 300_000);

  it('plays with the environment class that the docs give for TRL', async () => {
    const directory = temporaryDirectory();
    writeCookingClass(directory, server.environments.find(({ name }) => name === 'text:cooking')!.url);
    // As GRPOTrainer does: the tools are the functions of the class, reset takes the row, answers are texts.
    const script = `
import inspect, json, sys
from cooking import Cooking, score
task = json.load(sys.stdin)
envs = [Cooking() for _ in task]
tools = [name for name, _ in inspect.getmembers(Cooking, inspect.isfunction) if name[0] != "_" and name != "reset"]
docs = inspect.getdoc(getattr(envs[0], tools[0]))
seen = []
for env, row in zip(envs, task):
    seen.append([env.reset(prompt=[], seed=row["seed"])] + [env.act(command=command) for command in row["actions"]])
try:
    envs[0].act("look")
    end = ""
except ValueError as error:
    end = str(error)
print(json.dumps({"tools": tools, "docs": docs, "seen": seen, "scores": score(environments=envs, prompts=[]), "end": end}))
`;
    const traces = await Promise.all([1, 2].map((seed) => gold(seed)));
    const answer = JSON.parse(await said(['-c', script], traces, directory)) as Record<string, unknown>;
    expect(answer).toMatchObject({
      ...{ tools: ['act'], seen: traces.map(({ texts }) => texts), end: 'The game is over.' },
      docs: expect.stringMatching(/Args:\n\s+command: /),
    });
    expect(answer.scores).toEqual(traces.map(({ score }) => score));
  }, 300_000);
});
