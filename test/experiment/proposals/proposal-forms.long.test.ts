import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/assemble.js';
import { formatValue } from '../../../src/prompting/notation/grammar.js';
import { createGenerator } from '../../../src/random/generator.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { quick, readRunFile, resumeExperiment, runExperimentFrom } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';

const config = {
  ...quick,
  iterations: 6,
  candidates: 4,
  warmup: 5,
  proposal: { form: 'delta', beam: 2 },
  model: { provider: 'ollama', name: 'scripted', format: 'text' },
} as const satisfies ConfigInput;

/** Small steps that depend on nothing but the seed; a fifth of the answers is broken. */
const stepping = () =>
  createScriptedModel(({ options }) => {
    const random = createGenerator(options.seeds[0]!);
    const { closing = '', labels, number } = options.grammar!;
    const values = labels.map((label) => `${label}${formatValue(random.uniform(-1, 1), number.decimals)}`);
    const answer = `${values.join('')}${closing}`;
    return random.random() < 0.2 ? 'I do not know.' : answer;
  });

const lineOf = ({ parameters }: BufferEntry) =>
  parameters.map((value, i) => `params[${i}]: ${formatValue(value, 1)}`).join('; ');

/** The parameters that the last user message goes on from. */
const parentIn = (text: string) => /added to these parameters[^\n]*\n(params.*); f\(params\)/.exec(text)?.[1];

describe('deltas with a beam', () => {
  it('start from the best known evaluations, which the candidates take in turn', async () => {
    const { path } = await runExperimentFrom(config, { model: stepping() });
    const { calls, entries } = readRun(path);
    let accepted = 0;
    for (const call of calls) {
      const known = entries.filter(({ iteration }) => iteration < call.iteration);
      const best = known.toSorted((a, b) => b.score - a.score);
      const parent = best[call.candidate % 2]!;
      expect(parentIn(call.messages[1]!.content)).toBe(lineOf(parent));
      if (call.outcome.kind !== 'accepted') continue;
      accepted++;
      const changes = [...call.completion!.text.matchAll(/delta\[\d+\]: (-?[\d.]+)/g)].map(([, text]) =>
        Number(text),
      );
      const sums = parent.parameters.map((value, i) => Number((value + changes[i]!).toFixed(1)));
      expect(call.outcome.parameters.map((value) => value + 0)).toEqual(sums.map((value) => value + 0));
    }
    expect(accepted).toBe(entries.filter(({ source }) => source === 'proposal').length);
    expect(accepted).toBeGreaterThan(20);
  });

  it('are the same after an interruption and in a replay', async () => {
    const { path } = await runExperimentFrom(config, { model: stepping() });
    const stop = new AbortController();
    const stopped = await runExperimentFrom(config, {
      model: stepping(),
      finish: stop.signal,
      onEvent: (event) => event.kind === 'call-finished' && event.call.iteration === 3 && stop.abort(),
    });
    expect(readManifest(stopped.path).iterations.done).toBeLessThan(6);
    await resumeExperiment(stopped.path, { model: stepping() });
    expect(readRunFile(stopped.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    const replayed = await runExperimentFrom({ ...config, model: { provider: 'replayed', run: path } });
    expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
    expect(readRun(replayed.path).calls.map(({ messages }) => messages)).toEqual(
      readRun(path).calls.map(({ messages }) => messages),
    );
  });

  it('in a pipeline start from the best evaluations known when they were requested', async () => {
    const { path } = await runExperimentFrom({ ...config, pipeline: 3 }, { model: stepping() });
    const { calls, entries } = readRun(path);
    for (const call of calls) {
      const known = entries.filter(({ iteration }) => iteration <= Math.max(0, call.iteration - 3));
      const best = known.toSorted((a, b) => b.score - a.score)[call.candidate % 2]!;
      expect(parentIn(call.messages[1]!.content)).toBe(lineOf(best));
    }
  });

  it('are requested together if they share a prompt and the model gives several answers', async () => {
    const model = stepping();
    const asked: number[] = [];
    await runExperimentFrom(
      { ...config, iterations: 1 },
      {
        model: {
          id: model.id,
          givesSeveral: true,
          async generate(messages, options) {
            asked.push(options.seeds.length);
            const each = await Promise.all(
              options.seeds.map((seed) => model.generate(messages, { ...options, seeds: [seed] })),
            );
            return each.flat();
          },
        },
      },
    );
    expect(asked.slice(0, 2)).toEqual([2, 2]);
  });
});

it('without a beam, deltas start from the latest evaluation', async () => {
  const { path } = await runExperimentFrom(
    { ...config, candidates: 1, proposal: { form: 'delta' } },
    { model: stepping() },
  );
  const { calls, entries } = readRun(path);
  for (const call of calls) {
    const latest = entries.findLast(({ iteration }) => iteration < call.iteration)!;
    expect(parentIn(call.messages[1]!.content)).toBe(lineOf(latest));
  }
});

it('baselines propose the same with and without proposal.form: delta', async () => {
  for (const provider of ['cma-es', 'gp', 'hill-climb'] as const) {
    const own = { ...config, iterations: 2, model: { provider } };
    const { path } = await runExperimentFrom(own);
    const { proposal: _proposal, ...plain } = own;
    const without = await runExperimentFrom(plain);
    expect(readRunFile(path, 'evaluations')).toBe(readRunFile(without.path, 'evaluations'));
    const replayed = await runExperimentFrom({ ...own, model: { provider: 'replayed', run: path } });
    expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  }
});

it('in a portfolio, the language model answers with deltas and a baseline with parameters', async () => {
  const members = [{ provider: 'ollama', name: 'scripted', format: 'text' }, { provider: 'mix' }] as const;
  const own: ConfigInput = {
    ...config,
    model: { provider: 'portfolio', members: [...members], switch: 'turns' },
  };
  const { model } = await assemble(parseConfig(own), {});
  if (!('members' in model)) throw new Error('no portfolio');
  const [, mix] = model.members;
  const scripted = { name: 'ollama', proposer: stepping() };
  const { path } = await runExperimentFrom(own, { model: { ...model, members: [scripted, mix!] } });
  const accepted = readRun(path).calls.filter(({ outcome }) => outcome.kind === 'accepted');
  for (const { completion, member } of accepted)
    expect(completion!.text.startsWith(member === 'mix' ? 'params[0]' : 'delta[0]')).toBe(true);
  expect(new Set(accepted.map(({ member }) => member)).size).toBe(2);
  const replayed = await runExperimentFrom({ ...own, model: { provider: 'replayed', run: path } });
  expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
});

describe('the proposal setting is rejected', () => {
  const wrong = (more: Partial<ConfigInput>) => () => parseConfig({ ...config, ...more } as ConfigInput);
  it.each<[string, Partial<ConfigInput>, RegExp]>([
    ['a beam beyond the candidates', { candidates: 1 }, /proposal\.beam.*set candidates to 2/s],
    ['no parent to begin with', { warmup: 0 }, /parent.*set warmup/s],
    [
      'changes of choices',
      { environment: 'FrozenLake-v1', policy: { kind: 'q-table' } },
      /action table contains discrete choices/,
    ],
    ['the compact set', { prompts: { set: 'compact' } }, /compact/],
    ['a conversation with a beam', { prompts: { conversation: { turns: 3 } } }, /conversation/],
  ])('with %s', (_name, more, message) => {
    expect(wrong(more)).toThrow(message);
  });

  it('with deltas for an action table that is the default policy', async () => {
    const { policy: _policy, ...rest } = { policy: undefined, ...config };
    await expect(assemble(parseConfig({ ...rest, environment: 'FrozenLake-v1' }), {})).rejects.toThrow(
      /are choices/,
    );
  });
});

describe('the prompt set compact with other parameter bounds', () => {
  const inBox = {
    ...quick,
    iterations: 5,
    candidates: 2,
    prompts: { set: 'compact' },
    policy: { kind: 'linear', low: -1, high: 1, decimals: 2 },
    model: { provider: 'ollama', name: 'scripted', format: 'text' },
  } as const satisfies ConfigInput;

  /** Answers within what it is told, so that most lies outside the box itself. */
  const wide = () =>
    createScriptedModel(({ options }) => {
      const random = createGenerator(options.seeds[0]!);
      const { closing = '', labels, number } = options.grammar!;
      const values = labels.map((label) => `${label}${formatValue(random.uniform(-6, 6), number.decimals)}`);
      return `${values.join('')}${closing}`;
    });

  it('shows and reads values from -6.0 to 6.0, scales them to the bounds, and replays identically', async () => {
    const { path } = await runExperimentFrom(inBox, { model: wide() });
    const { calls, entries } = readRun(path);
    const accepted = calls.flatMap(({ completion, outcome }) =>
      outcome.kind === 'accepted' ? [{ text: completion!.text, parameters: outcome.parameters }] : [],
    );
    expect(accepted).toHaveLength(10);
    for (const { parameters, text } of accepted) {
      const answered = [...text.matchAll(/: (-?[\d.]+)/g)].map(([, value]) => Number(value));
      expect(answered.some((value) => Math.abs(value) > 1)).toBe(true);
      expect(parameters).toEqual(answered.map((value) => Number((value / 6).toFixed(2)) + 0));
    }
    const told = [...calls.at(-1)!.messages[1]!.content.matchAll(/params\[0\]: (-?[\d.]+)/g)];
    const known = entries.filter(({ iteration }) => iteration < 5);
    expect(told.map(([, value]) => Number(value)).toSorted()).toEqual(
      known.map(({ parameters }) => Number((6 * parameters[0]!).toFixed(1)) + 0).toSorted(),
    );
    const replayed = await runExperimentFrom({ ...inBox, model: { provider: 'replayed', run: path } });
    expect(readRunFile(replayed.path, 'evaluations')).toBe(readRunFile(path, 'evaluations'));
  });

  it('leaves the proposals of a baseline unscaled', async () => {
    const { path } = await runExperimentFrom({ ...inBox, model: { provider: 'random' } });
    const { calls, entries } = readRun(path);
    expect(calls.every(({ outcome }) => outcome.kind === 'accepted')).toBe(true);
    const values = entries.flatMap(({ parameters }) => parameters);
    expect(values.every((value) => Math.abs(value) <= 1)).toBe(true);
    expect(values.some((value) => Math.abs(value) > 0.5)).toBe(true);
  });
});
