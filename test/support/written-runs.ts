/** Run directories with known content, written without playing anything. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/config/config.js';
import { parseConfig, resolvedYaml } from '../../src/config/load.js';
import type { BufferEntry } from '../../src/rollout/replay-buffer.js';
import { fixedSettings } from '../../src/runs/fingerprint.js';
import type { Manifest } from '../../src/runs/manifest.js';
import { runFiles } from '../../src/runs/reader.js';
import { noUsage } from '../../src/runs/usage.js';
import { entryOf } from './records.js';

export interface WrittenRun {
  readonly seed: number;
  /** Final confirmed return; undefined: nothing was confirmed. */
  readonly confirmed?: number | undefined;
  /** Scores of the warm-up, then of each iteration; null: rejected. */
  readonly scores?: readonly (number | null)[];
  readonly config?: Partial<ConfigInput>;
  /** Model id. */
  readonly model?: string;
  readonly prompts?: string;
  readonly status?: Manifest['status'];
  readonly reason?: Manifest['reason'];
  readonly tokens?: number;
  readonly cost?: number;
}

const warmup = 2;

/** A run of a control on CartPole with two warm-up policies, by default complete after as many iterations as scores. */
export function writeRun(path: string, run: WrittenRun): string {
  const scores = run.scores ?? [10, 20, 30, 40];
  const done = scores.length - warmup;
  const config = parseConfig({
    environment: 'CartPole-v1',
    model: { provider: 'random' },
    warmup,
    iterations: done,
    seed: run.seed,
    ...run.config,
  });
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, runFiles.config), resolvedYaml(config));
  const { seed, confirmed } = run;
  const manifest: Manifest = {
    version: 1,
    run: path,
    status: run.status ?? 'completed',
    reason: run.reason ?? { kind: 'iterations' },
    created: '2026-01-01T00:00:00.000Z',
    updated: '2026-01-01T00:00:00.000Z',
    activeMs: 1,
    versions: { policyloop: '0.1.0', node: 'v20' },
    environment: config.environment.id,
    model: run.model ?? `baseline/${config.model.provider}`,
    fingerprint: '',
    settings: fixedSettings(config),
    prompts: run.prompts ?? 'p',
    seed,
    iterations: { done, of: config.iterations },
    confirmations:
      confirmed === undefined
        ? []
        : [
            {
              stage: 'final',
              iteration: 1,
              candidate: 0,
              parameters: [0],
              observed: confirmed,
              mean: confirmed,
              ci95: [confirmed, confirmed],
              episodes: 2,
            },
          ],
    usage: {
      ...noUsage,
      calls: done,
      promptTokens: run.tokens ?? 0,
      ...(run.cost !== undefined && { cost: run.cost }),
    },
  };
  writeFileSync(join(path, runFiles.manifest), JSON.stringify(manifest));
  const entries = scores.flatMap((score, i): BufferEntry[] => {
    if (score === null) return [];
    const first = i < warmup;
    return [entryOf(first ? 0 : i - warmup + 1, score, { candidate: first ? i : 0, parameters: [i] })];
  });
  writeFileSync(
    join(path, runFiles.evaluations),
    entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''),
  );
  return path;
}

/** A training that is complete, unless `about` says otherwise. */
export function writeTraining(path: string, metrics: readonly object[], about: object = {}): void {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'metrics.jsonl'), metrics.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const outcome = { ended: 'complete', step: 1 };
  const training = { method: 'lora', base: { model: 'm' }, dataset: { path: 'data' }, config: {}, outcome };
  writeFileSync(join(path, 'training.json'), JSON.stringify({ ...training, ...about }));
}
