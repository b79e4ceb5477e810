/** Writes synthetic runs of any length, in the format of real runs. */
import { basename } from 'node:path';
import { createGenerator } from '../src/base/random/generator.js';
import { parseConfig, resolvedYaml } from '../src/config/load.js';
import { assemble } from '../src/experiment/setup/assemble.js';
import { newManifest } from '../src/experiment/setup/open-experiment.js';
import type { ChatMessage } from '../src/models/language-model.js';
import { historyLine } from '../src/prompting/context/history.js';
import { encodingForSpec } from '../src/prompting/notation/encoding.js';
import { formatParameters } from '../src/prompting/notation/grammar.js';
import { rollout } from '../src/rollout/episode.js';
import type { BufferEntry } from '../src/rollout/replay-buffer.js';
import type { CallRecord, UsageTotals } from '../src/runs/calls.js';
import { createRunDirectory } from '../src/runs/create.js';
import { noUsage } from '../src/runs/usage.js';
import { mean } from '../src/statistics/descriptive.js';

export interface SyntheticRun {
  readonly iterations: number;
  readonly candidates: number;
  /** Number of evaluations in each prompt. */
  readonly history: number;
}

/** Writes a completed run of CartPole-v1 by random search, with a language model's prompts, replies and usage. */
export async function writeSyntheticRun(path: string, size: SyntheticRun): Promise<void> {
  const { iterations, candidates, history } = size;
  const config = parseConfig({
    environment: 'CartPole-v1',
    model: { provider: 'random' },
    iterations,
    candidates,
    confirmation: { candidates: 0 },
  });
  const assembly = await assemble(config, {});
  const { environment, family } = assembly;
  if (!('step' in environment)) throw new Error('CartPole-v1 must be built in');
  const spec = family.parameters;
  const now = () => new Date(Date.UTC(2026, 0, 1));
  const directory = createRunDirectory(path, {
    configYaml: resolvedYaml(assembly.config),
    manifest: newManifest(assembly, basename(path), now()),
    imported: [],
    now,
  });
  const random = createGenerator(1);
  const draw = () => Array.from({ length: spec.count }, () => Math.round(random.uniform(-60, 60)) / 10);
  const policy = family.build(draw());
  const { trajectory } = rollout(environment, policy, { seed: 1, maxSteps: 500, record: true });
  const entries: BufferEntry[] = [];
  const evaluated = (place: Pick<BufferEntry, 'iteration' | 'candidate' | 'source'>) => {
    const returns = Array.from({ length: 20 }, () => Math.round(random.uniform(8, 60)));
    const { iteration } = place;
    const entry = { ...place, group: iteration, parameters: draw(), returns, lengths: returns };
    const { source, group, parameters, candidate } = entry;
    entries.push({
      iteration,
      group,
      candidate,
      source,
      parameters,
      returns,
      lengths: returns,
      score: mean(returns),
    });
    const record = { iteration, candidate, episode: 0, seed: 1, ...trajectory! };
    return { entry: entries.at(-1)!, episodes: [{ ...record, terminated: true, truncated: false }] };
  };
  for (let candidate = 0; candidate < config.warmup.policies; candidate++) {
    const measured = evaluated({ iteration: 0, candidate, source: 'warm-up' });
    directory.record({ kind: 'warmup-evaluated', ...measured, of: config.warmup.policies });
  }
  let usage: UsageTotals = noUsage;
  const encoding = encodingForSpec(spec, config.prompts.set);
  const lines = entries.map((entry) => historyLine(entry, encoding));
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const messages = promptOf(lines.slice(-history), iteration, iterations);
    const added = Array.from({ length: candidates }, (_, candidate) =>
      evaluated({ iteration, candidate, source: 'proposal' }),
    );
    for (const { entry } of added) {
      const call = callOf(entry, messages, formatParameters(entry.parameters, spec));
      directory.record({ kind: 'call-finished', call });
      usage = { ...usage, calls: usage.calls + 1, promptTokens: usage.promptTokens + 20_000 };
    }
    for (const measured of added) {
      directory.record({ kind: 'candidate-evaluated', ...measured, improved: false });
      lines.push(historyLine(measured.entry, encoding));
    }
    directory.record({ kind: 'iteration-finished', iteration, usage });
    if (iteration % 50 === 0) await directory.commit();
  }
  directory.record({ kind: 'run-finished', reason: { kind: 'iterations' }, usage });
  const { iteration, candidate, score, parameters } = entries.reduce((a, b) => (b.score > a.score ? b : a));
  directory.update({
    status: 'completed',
    reason: { kind: 'iterations' },
    iterations: { done: iterations, of: iterations },
    best: { iteration, candidate, return: score, parameters },
    usage,
  });
  await directory.close();
}

function promptOf(lines: readonly string[], iteration: number, of: number): readonly ChatMessage[] {
  const rules = Array.from(
    { length: 20 },
    (_, i) => `- Rule ${i}: read the evaluations and improve on them.`,
  );
  return [
    { role: 'system', content: rules.join('\n') },
    {
      role: 'user',
      content: `Evaluations so far, oldest first:\n${lines.join('\n')}\n\nThis is iteration ${iteration} of ${of}. Propose new parameters.`,
    },
  ];
}

function callOf(entry: BufferEntry, messages: readonly ChatMessage[], answer: string): CallRecord {
  return {
    iteration: entry.iteration,
    candidate: entry.candidate,
    attempt: 0,
    purpose: 'proposal',
    messages,
    seed: 1,
    outcome: { kind: 'accepted', parameters: entry.parameters },
    completion: {
      text: `${answer}\nThe best evaluations share a large weight of the pole's angle; I move on in that direction.`,
      finishReason: 'stop',
      usage: { promptTokens: 20_000, cachedTokens: 15_000, completionTokens: 120 },
      latencyMs: 1000,
      retries: 0,
    },
    time: '2026-01-01T00:00:00.000Z',
  };
}
