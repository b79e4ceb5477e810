/** Reinforcement learning small enough for tests: a byte model with one layer of width 32, from scratch. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenedLearning, openLearning, planLearning } from '../../../finetune/rl/assemble.js';
import { learnOnline, type OnlineHooks, type OnlineOutcome } from '../../../finetune/rl/online.js';
import { loadRlConfig, type RlConfig } from '../../../finetune/rl/rl-config.js';
import { isPolicyStep, type PolicyStep, type TrainingEvent } from '../../../finetune/train/events.js';
import { writeByteModel } from '../../../scripts/byte-model.js';
import type { Sample } from '../../../src/runs/training/samples.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';

const shape = { hidden: 32, intermediate: 64, layers: 1, heads: 2, context: 512 };

/** @param written keys of the config; the folder is a new one */
export function tinyConfig(written: object, folder = temporaryDirectory()): RlConfig {
  writeByteModel(join(folder, 'model'), shape);
  const config = {
    model: './model',
    output: './out',
    method: { kind: 'scratch' },
    objective: { kind: 'grpo' },
    learningRate: 2e-2,
    agent: { maxTokens: 1, fallback: 'first' },
    evaluation: { every: 1000, episodes: 64 },
    threads: 1,
    ...written,
  };
  const file = join(folder, 'rl.yaml');
  writeFileSync(file, JSON.stringify(config));
  mkdirSync(join(folder, 'out'), { recursive: true });
  return loadRlConfig(file);
}

export interface Learned extends OnlineOutcome {
  /** The samples of the evaluations. */
  readonly samples: readonly (readonly [step: number, samples: readonly Sample[]])[];
  readonly events: readonly TrainingEvent[];
  readonly steps: readonly PolicyStep[];
}

/** @param change replaces parts of the opened training, such as its task */
export async function learned(
  config: RlConfig,
  hooks: OnlineHooks = {},
  change: (learning: OpenedLearning) => OpenedLearning = (learning) => learning,
): Promise<Learned> {
  const events: TrainingEvent[] = [];
  const samples: (readonly [number, readonly Sample[]])[] = [];
  const all: OnlineHooks = {
    ...hooks,
    onSamples: (step, said) => samples.push([step, said]),
    onEvent(event) {
      events.push(event);
      hooks.onEvent?.(event);
    },
  };
  const learning = await openLearning(planLearning(config), all);
  try {
    const outcome = await learnOnline(change(learning), all);
    return { ...outcome, events, samples, steps: events.filter(isPolicyStep) };
  } finally {
    await learning.close();
  }
}

export const checkpointIn = (folder: string) => readFileSync(join(folder, 'out', 'checkpoint.safetensors'));

/** Makes the function crash at the n-th call. */
export function crashing<A extends readonly unknown[], R>(
  call: (...given: A) => R,
  at: number,
): (...given: A) => R {
  let calls = 0;
  return (...given) => {
    if (++calls === at) throw new Error('the process ends here');
    return call(...given);
  };
}
