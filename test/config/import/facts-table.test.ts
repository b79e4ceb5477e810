/** Compares imported configs with a table of what the reference systems do with each key. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { UserError } from '../../../src/base/errors.js';
import { packageRoot } from '../../../src/base/package.js';
import { type LoadedConfig, loadConfig } from '../../../src/config/load.js';
import { Prompter } from '../../../src/experiment/prompter.js';
import { assemble, closeEnvironment } from '../../../src/experiment/setup/assemble.js';
import { createReplayBuffer } from '../../../src/rollout/replay-buffer.js';
import { emptyRun } from '../../../src/runs/reader.js';

interface Case {
  readonly name: string;
  readonly base: string;
  readonly given: Readonly<Record<string, unknown>>;
}
interface Table {
  readonly bases: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly cases: readonly (Case & { readonly expected: Readonly<Record<string, unknown>> })[];
  readonly refused: readonly (Case & { readonly says: string })[];
}

const file = join(packageRoot(), 'test', 'fixtures', 'reference-configs.yaml');
const table = parse(readFileSync(file, 'utf8')) as Table;

const load = ({ base, given }: Case): LoadedConfig => {
  const config = { ...table.bases[base], ...given };
  return loadConfig({ file: 'theirs.yaml', readFile: () => JSON.stringify(config) });
};

/** The effect of a config, in the words of the table. */
async function built({ config, imported, notes }: LoadedConfig): Promise<Record<string, unknown>> {
  const assembly = await assemble({ ...config, model: { provider: 'random' } }, {});
  const { environment, family } = assembly;
  const { evaluation, iterations, memory, model, prompts, warmup } = config;
  const recorded = warmup.policies + iterations - 1;
  const entries = Array.from({ length: recorded }, (_, i) => ({
    iteration: Math.max(0, i + 1 - warmup.policies),
    group: 0,
    candidate: i,
    source: 'proposal' as const,
    parameters: Array.from({ length: family.parameters.count }, () => family.parameters.high),
    returns: [-i],
    lengths: [1],
    score: -i,
  }));
  const buffer = createReplayBuffer(entries);
  const prompter = new Prompter({
    ...assembly,
    config: { ...assembly.config, model },
    buffer,
    recorded: emptyRun,
  });
  const text = prompter
    .messages(iterations)
    .map(({ content }) => content)
    .join('\n');
  await closeEnvironment(assembly);
  const { policy } = assembly.config;
  return {
    environment: environment.id,
    parameters: family.parameters.count,
    cap: Math.min(environment.maxSteps ?? evaluation.maxSteps, evaluation.maxSteps),
    // The best one stands once more behind the history.
    history: Math.max(0, (text.match(/; f\(params\): -?\d/g) ?? []).length - 1),
    shows: memory.trajectories,
    rows: memory.rows,
    set: prompts.set,
    optimum: prompts.optimum,
    told: prompts.optimum === undefined || text.includes(`about ${prompts.optimum}.`),
    step: prompts.stepSize,
    warmup: warmup.policies,
    iterations,
    episodes: evaluation.episodes,
    provider: model.provider,
    model:
      'path' in model
        ? (imported!.config.model as { path?: string }).path
        : 'name' in model
          ? model.name
          : undefined,
    slippery: config.environment.options.is_slippery,
    low: 'low' in policy ? policy.low : undefined,
    high: 'high' in policy ? policy.high : undefined,
    candidates: config.candidates,
    note: notes.join('\n'),
  };
}

describe('an imported config', () => {
  it.each(table.cases.map((one) => [one.name, one] as const))(
    'builds the expected experiment: %s',
    async (_name, one) => {
      const facts = await built(load(one));
      for (const [key, value] of Object.entries(one.expected)) {
        if (key === 'note') expect(facts.note).toContain(value);
        else expect(facts[key] ?? null, key).toEqual(value);
      }
      expect(facts).toMatchObject({ told: true, candidates: 1 });
    },
  );

  it.each(table.refused.map((one) => [one.name, one] as const))('is rejected with a reason: %s', (_, one) => {
    expect(() => load(one)).toThrow(UserError);
    expect(() => load(one)).toThrow(one.says);
  });

  it('can use LunarLander through Gymnasium, as gymnasium:LunarLander-v3', () => {
    const one = table.refused.find(({ name }) => name === 'LunarLander')!;
    const given = { ...one.given, gym_env_name: 'gymnasium:LunarLander-v3' };
    expect(load({ ...one, given }).config.environment.id).toBe('gymnasium:LunarLander-v3');
  });
});
