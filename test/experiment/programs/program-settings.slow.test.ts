/** Programs with every other setting of a run: what works together, what is rejected, and what the prompts contain. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/setup/assemble.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { quick, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';
import { createScriptedModel, type ScriptedCall } from '../../support/scripted-model.js';

type Settings = Partial<ConfigInput>;

const config = {
  ...quick,
  iterations: 2,
  confirmation: { candidates: 1, episodes: 2 },
  model: { provider: 'ollama', name: 'scripted' },
  policy: { kind: 'program' },
} as const satisfies ConfigInput;

const folder = temporaryDirectory();
const inFolder = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
};

const written = (body: string) =>
  `\`\`\`js\nfunction act(observation, memory, constants) {\n  ${body}\n}\n\`\`\``;
/** The reply that edits the only line of a program. */
const edited = (from: string, to: string) => `<<<<<<< SEARCH\n  ${from}\n=======\n  ${to}\n>>>>>>> REPLACE`;
const isRevision = ({ messages }: Pick<ScriptedCall, 'messages'>) =>
  messages[0]!.content.startsWith('You improve the policy');

const balance = (gain: number) => `return observation[2] + ${gain} * observation[3] > 0 ? 1 : 0;`;

const gainOf = ({ options }: ScriptedCall) =>
  Number(createGenerator(options.seeds[0]!).uniform(0.1, 2).toFixed(3));

/** A different program for each call. */
const writer = (body: (gain: number) => string = balance) =>
  createScriptedModel((call) => written(body(gainOf(call))));

/** Runs a config to its end, and checks that the prompts are about programs alone. */
async function played(given: Settings, model = writer(), more: Parameters<typeof runExperimentFrom>[1] = {}) {
  const { path, events } = await runExperimentFrom({ ...config, ...given }, { model, ...more });
  expect(readManifest(path)).toMatchObject({ status: 'completed' });
  const run = readRun(path);
  const proposed = run.entries.filter(({ iteration }) => iteration > 0);
  expect(proposed).not.toEqual([]);
  for (const { parameters, program } of proposed) {
    expect(parameters.length).toBeGreaterThan(0);
    expect(program).toContain('act');
  }
  const asked = run.calls.flatMap(({ messages }) => messages);
  for (const { content } of asked) expect(content).not.toMatch(/param|undefined|\[object/i);
  return { ...run, path, events, proposed, model };
}

const spaces = {
  tuple: [
    "{ kind: 'tuple', spaces: [{ kind: 'discrete', n: 3 }, { kind: 'discrete', n: 2, start: 1 }] }",
    '[0, 1]',
  ],
  text: ["{ kind: 'text' }", "'go north'"],
} as const;

/** A custom environment whose observations and actions are of one kind. */
function ownEnvironment(kind: keyof typeof spaces): string {
  const [space, value] = spaces[kind];
  return inFolder(
    `own-${kind}.mjs`,
    `export default { create() { let steps = 0; return {
      observationSpace: ${space}, actionSpace: ${space},
      reset() { steps = 0; return ${value}; },
      step: () => ({ observation: ${value}, reward: ++steps, terminated: steps > 4 }),
    }; } };`,
  );
}

/** Stands in for a Python with Gymnasium. */
const fakePython = () => {
  const script = inFolder(
    'bridge.cjs',
    `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { make, mark, reset, step } = JSON.parse(line);
      const observation = (slot) => [slot / 10, 0, 0.02, 0];
      const box = { kind: 'box', low: Array(4).fill(-9), high: Array(4).fill(9), dtype: 'float32' };
      const answer = make ? { observation: box, action: { kind: 'discrete', n: 2, start: 0 }, maxSteps: 20 }
        : reset ? { observations: reset.map((_, slot) => observation(slot)) }
        : { steps: step.map(([slot, action]) => [observation(slot), action, false, false]) };
      console.log(mark + JSON.stringify(answer));
    });`,
  );
  return inFolder('python', `#!/bin/sh\nexec '${process.execPath}' '${script}'\n`);
};

describe('programs', () => {
  it.each<Settings>([
    { candidates: 2, critic: { every: 2 } },
    { prompts: { layout: 'conversation', optimum: 60 }, memory: { trajectories: 'rows' } },
    { memory: { best: 1, recent: 1, trajectories: 'summary' } },
    { evaluation: { episodes: 2, maxSteps: 60, seeds: 'fresh' }, candidates: 2, critic: {} },
  ])('work with %j', async (given) => {
    await played(given);
  });

  it('are proposed until a target or a limit is reached', async () => {
    const { path } = await played({ target: 20, iterations: 20 });
    expect(readManifest(path)).toMatchObject({ reason: { kind: 'target' }, iterations: { done: 1 } });
    const limited = await played({ limits: { evaluations: 5 }, iterations: 20 });
    expect(readManifest(limited.path)).toMatchObject({ reason: { limit: 'evaluations' } });
    expect(limited.entries).toHaveLength(5);
  });

  it('are absent from prompts with memory: none, and are all shown with memory: all', async () => {
    const first = ({ calls }: Awaited<ReturnType<typeof played>>) =>
      calls.filter(({ attempt }) => attempt === 0).map(({ messages }) => messages[1]!.content);
    expect(new Set(first(await played({ memory: 'none' }))).size).toBe(1);
    const model = writer((gain) => `const part${Math.round(1000 * gain)} = 0;\n  ${balance(gain)}`);
    const all = await played({ memory: 'all', iterations: 4 }, model);
    const shown = first(all).at(-1)!;
    const before = all.proposed.filter(({ iteration }) => iteration < 4);
    for (const { program } of before) expect(shown).toContain(program);
    expect(shown.match(/^Mean return/gm)).toHaveLength(before.length);
  });

  it('come from all members of a portfolio', async () => {
    const members = [
      { provider: 'ollama', name: 'scripted' },
      { provider: 'genetic' },
      { provider: 'random' },
    ];
    const model = { provider: 'portfolio', members } as ConfigInput['model'];
    const own = { model: writer() };
    const { proposer } = await assemble(parseConfig({ ...config, model }), {}, undefined, own);
    const { path } = await runExperimentFrom(
      { ...config, model, candidates: 3, iterations: 6 },
      { model: proposer },
    );
    const { calls, entries } = readRun(path);
    expect(new Set(calls.map(({ member }) => member))).toEqual(new Set(['ollama', 'genetic', 'random']));
    expect(entries.at(-1)!.iteration).toBe(6);
  });

  it.each<readonly [string, Settings, (gain: number) => string]>([
    ['Nim-v0', {}, (gain) => `return observation[0] > ${gain} ? 0 : 1;`],
    ['FrozenLake-v1', {}, (gain) => `return observation > ${8 * gain} ? 1 : 2;`],
    ['text:cooking', { warmup: 0 }, (gain) => `return 'take item ' + ${gain};`],
  ])('play %s', async (environment, given, body) => {
    await played({ ...given, environment, critic: {}, memory: { trajectories: 'rows' } }, writer(body));
  });

  it.each(['tuple', 'text'] as const)('play a custom environment with %s spaces', async (kind) => {
    const [, value] = spaces[kind];
    const { proposed } = await played(
      { environment: ownEnvironment(kind), warmup: 0, critic: {}, memory: { trajectories: 'summary' } },
      writer((gain) => `memory.gain = ${gain}; return ${value};`),
    );
    expect(proposed[0]!.score).toBe(15);
  });
});

describe('a critic of programs', () => {
  const critic = { rows: 3 };
  const first = balance(-0.5);

  it.each(['whole', 'edits'] as const)('revises the source that it is shown: %s', async (form) => {
    const policy = { kind: 'program', edits: form === 'edits' } as const;
    const model = createScriptedModel((call) => {
      if (!isRevision(call)) return written(first);
      return form === 'edits' ? edited(first, balance(1)) : written(balance(1));
    });
    const { calls, entries, events } = await played({ critic, iterations: 1, policy }, model);
    const [asked] = calls.filter(({ purpose }) => purpose === 'critic');
    expect(asked!.messages[1]!.content).toContain(written(first));
    expect(asked!.messages[1]!.content).toMatch(/all 3 episodes show[\s\S]*median return\nstep \|/);
    expect(asked!.messages[1]!.content.includes('SEARCH')).toBe(form === 'edits');
    expect(entries.at(-1)).toMatchObject({ revises: 0, program: expect.stringContaining('+ 1 *') });
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'revised', result: 'better', distance: 1 }),
    );
  });

  it('may keep the source, and is corrected if its revision fails or acts the same', async () => {
    const answers = [
      ...[written(first), written(first)],
      ...[written(balance(0.1)), written('return missing;')],
      ...[written('const lean = observation[2] + 0.1 * observation[3]; return lean > 0 ? 1 : 0;')],
      written(balance(1.5)),
    ];
    const { calls, events } = await played({ critic, iterations: 2 }, createScriptedModel(answers));
    const results = events.flatMap((event) => (event.kind === 'revised' ? [event.result] : []));
    expect(results).toEqual(['kept', expect.stringMatching(/better/)]);
    expect(
      calls.flatMap(({ outcome }) => (outcome.kind === 'rejected' ? [outcome.failure] : [])),
    ).toMatchObject([{ kind: 'program' }, { kind: 'repeated', same: 'actions' }]);
  });

  it('does not stop the run if its revision fails in an episode it was not tried on', async () => {
    const model = createScriptedModel((call) =>
      written(
        isRevision(call)
          ? 'return observation[0] > 0 ? missing : 0;'
          : `memory.n = (memory.n ?? 0) + ${gainOf(call)}; return memory.n > 4 ? 1 : 0;`,
      ),
    );
    const environment = { id: 'gymnasium:CartPole-v1', python: fakePython() };
    const { events } = await played({ environment, warmup: 0, iterations: 1, critic }, model);
    expect(events).toContainEqual(expect.objectContaining({ kind: 'revised', result: 'rejected' }));
  });
});

const critic = { prompts: 'programs-critic' };
it.each<readonly [Settings, RegExp]>([
  [{ critic: { distance: 0.1 } }, /^critic\.distance: can't be combined with policy\.kind/],
  [{ critic: { model: { provider: 'gp' } } }, /^critic\.model\.provider: searches for numbers/],
  [{ policy: { kind: 'linear' }, critic }, /^critic\.prompts: asks for programs/],
  [{ model: { provider: 'local' } }, /^model\.path: is the embedded model/],
  [{ environment: 'text:cooking' }, /^environment: has text.*[\s\S]*warmup=0/],
])('the change %j to a config for programs causes an error of at most six lines', async (given, message) => {
  const refusal = async () => assemble(parseConfig({ ...config, ...given }), {});
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.toThrow(/^(.*\n){1,5}.*$/);
});
