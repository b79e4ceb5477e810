import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { plannedAdapter } from '../../../../finetune/rl/adapt/learning.js';
import { rewardedGroups } from '../../../../finetune/rl/adapt/run-learner.js';
import type { Environment } from '../../../../src/environments/environment.js';
import {
  type AdaptingConfig,
  adaptingConfig,
  type ObservedAnswer,
  observedIteration,
} from '../../../../src/experiment/learner.js';
import { type ConfigInput, parseConfig, run } from '../../../../src/index.js';
import type { CallRecord } from '../../../../src/runs/calls.js';
import { readRun } from '../../../../src/runs/reader.js';
import { mean } from '../../../../src/statistics/descriptive.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';

/** A bandit over numbers: an episode is one step and returns the action, which is the policy's only parameter. */
const bandit: Environment = {
  id: 'Number-v0',
  observationSpace: { kind: 'box', low: [1], high: [1] },
  actionSpace: { kind: 'box', low: [-6], high: [6] },
  maxSteps: 1,
  reset: () => [1],
  step: (action) => ({
    observation: [1],
    reward: (action as readonly number[])[0]!,
    terminated: true,
    truncated: false,
  }),
};

/** The prompt is always the same, so that only weights can learn. */
const config = {
  policy: { kind: 'linear', bias: false, low: -6, high: 6, decimals: 2 },
  model: { provider: 'local', format: 'constrained', threads: 1, device: 'cpu', maxTokens: 16 },
  prompts: { set: 'compact' },
  memory: 'none',
  warmup: 0,
  evaluation: { episodes: 1 },
  confirmation: { candidates: 0 },
  record: 'none',
  iterations: 9,
  candidates: 8,
  corrections: 0,
} satisfies Omit<ConfigInput, 'environment'>;

const learningRate = 3e-3;

async function played(adapt: ConfigInput['adapt'], changes: Partial<ConfigInput> = {}) {
  const directory = join(temporaryDirectory(), 'run');
  const given = { ...config, ...changes, ...(adapt && { adapt }) };
  await run(given as Parameters<typeof run>[0], { environment: bandit, directory });
  const { calls, entries, events } = readRun(directory);
  const between = (from: number, to: number) =>
    mean(entries.filter(({ iteration }) => iteration >= from && iteration <= to).map(({ score }) => score));
  const adapted = events.flatMap((event) =>
    event.kind === 'iteration-finished' && event.adapted ? [event.adapted] : [],
  );
  return { directory, calls, adapted, gain: between(7, 9) - between(1, 3) };
}

describe('adaptation during a run', { timeout: 180_000 }, () => {
  it.each([['grpo'], ['imitation']] as const)('improves returns by weights alone (%s)', async (kind) => {
    const { adapted, gain } = await played({ objective: { kind }, learningRate });
    expect(gain).toBeGreaterThan(1.5);
    expect(adapted).toHaveLength(9);
    // Sampler and trainer agree on the tokens that were sampled.
    expect(Math.max(...adapted.map(({ mismatch }) => mismatch ?? 0))).toBeLessThan(1e-6);
  });

  it('gains little from shuffled rewards', async () => {
    const shuffled = await played({ reward: { kind: 'rank', shuffle: true }, learningRate });
    expect(shuffled.gain).toBeLessThan(1.5);
  });

  it('records no sampled tokens and writes no adapter when it is off', async () => {
    const off = await played(undefined, { iterations: 1 });
    expect(off.calls.some(({ completion }) => completion?.sampled !== undefined)).toBe(false);
    expect(existsSync(join(off.directory, 'adapter'))).toBe(false);
  });

  it('starts from the adapter of an earlier run', async () => {
    const first = await played({ learningRate });
    const adapter = join(first.directory, 'adapter');
    const model = { ...config.model, adapter };
    const second = await played({ learningRate }, { model, iterations: 1 });
    const early = second.calls.map(({ outcome }) =>
      outcome.kind === 'accepted' ? outcome.parameters[0]! : Number.NaN,
    );
    expect(mean(early.filter(Number.isFinite))).toBeGreaterThan(1.5);
    const { lora } = plannedAdapter(adapting({ model }));
    expect(lora).toMatchObject({ rank: 16, alpha: 32, dropout: 0 });
  });
});

function adapting(changes: Partial<ConfigInput>): AdaptingConfig {
  const parsed = parseConfig({ ...config, environment: 'CartPole-v1', adapt: {}, ...changes } as ConfigInput);
  const found = adaptingConfig(parsed);
  if (found === undefined) throw new Error('it does not adapt');
  return found;
}

describe('the learner', () => {
  const sampled = { ids: [1, 2], logp: [-1, -2] };
  const call = (
    candidate: number,
    attempt: number,
    outcome: CallRecord['outcome'],
    prompt: string,
  ): CallRecord => ({
    ...{ iteration: 3, candidate, attempt, seed: 0, time: '', outcome },
    messages: [{ role: 'user', content: prompt }],
    completion: { text: 'a', sampled, finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 },
  });
  const rejected = { kind: 'rejected', failure: { kind: 'no-values', message: '' } } as never;
  const accepted = (value: number) => ({ kind: 'accepted', parameters: [value] }) as const;
  const entry = (candidate: number, score: number) =>
    ({
      iteration: 3,
      group: 3,
      candidate,
      source: 'proposal',
      parameters: [score],
      returns: [score],
      lengths: [1],
      score,
    }) as const;

  it('groups a corrected answer under the prompt that it answers', () => {
    const calls = [
      call(0, 0, accepted(5), 'first'),
      call(1, 0, rejected, 'first'),
      call(1, 1, accepted(7), 'corrected'),
    ];
    const { prompts } = observedIteration(3, calls, [entry(0, 5), entry(1, 7)], []);
    expect(prompts.map(({ answers }) => answers.map(({ kind }) => kind))).toEqual([
      ['evaluated', 'unreadable'],
      ['evaluated'],
    ]);
  });

  it('leaves out calls without an answer and candidates that were not evaluated', () => {
    const failed = { kind: 'error', error: 'aborted', message: '', retries: 0, latencyMs: 0 } as const;
    const { completion: _, ...unanswered } = call(0, 0, failed, 'first');
    const { prompts } = observedIteration(3, [unanswered, call(1, 0, accepted(1), 'first')], [], []);
    expect(prompts).toEqual([]);
  });

  it('gives each answer its own reward and trains only on tokens where it had a choice', () => {
    const answers = [1, 3, 2].map(
      (score): ObservedAnswer => ({
        ...{ kind: 'evaluated', text: '', parameters: [score], returns: [score], score },
        sampled: { ids: [score, 9], logp: [-1, 0], allowed: [[1, 2, 3], [9]] },
      }),
    );
    const messages = [{ role: 'user', content: 'x' }] as const;
    const lone = { messages, answers: answers.slice(0, 1) };
    const [group, ...others] = rewardedGroups(
      { iteration: 1, history: [], prompts: [{ messages, answers }, lone] },
      {
        terms: [{ kind: 'return', low: 0, high: 4, invalid: 0, weight: 1 }],
        environment: 'x',
        shuffle: undefined,
        encode: () => [7, 8],
      },
    );
    expect(others).toEqual([]);
    expect(group!.rewards).toEqual([0.25, 0.75, 0.5]);
    expect(group!.episodes.map(({ sequences }) => sequences[0])).toEqual(
      [1, 3, 2].map((score) => ({
        promptIds: [7, 8],
        completionIds: [score],
        trained: [true],
        allowed: [[1, 2, 3]],
        samplerLogp: [-1],
      })),
    );
  });
});
