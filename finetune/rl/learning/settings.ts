import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Path } from '../../../src/base/settings/issues.js';
import { environmentSchema } from '../../../src/environments/settings.js';
import { advantageScales, objectiveSchema } from '../../train/objectives/settings.js';
import {
  count,
  languageModelSettings,
  limitsText,
  rlMethod,
  trainingLimits,
} from '../../train/train-config.js';

export const environmentSetting = z
  .union([environmentSchema.shape.id, environmentSchema.pick({ id: true, options: true })])
  .describe('Environment to act in: an id, or an id with options');

export interface EnvironmentSetting {
  readonly id: string;
  readonly options: Readonly<Record<string, unknown>>;
}

export const withOptions = (environment: string | EnvironmentSetting): EnvironmentSetting =>
  typeof environment === 'string' ? { id: environment, options: {} } : environment;

export const environmentLongForm = (path: Path, value: unknown) =>
  path.length === 1 && path[0] === 'environment' ? { id: value } : undefined;

/** The templates of the user's own prompt set; none for a bundled one. */
export const templatesIn = (set = ''): readonly string[] =>
  /[\\/]/.test(set)
    ? readdirSync(set, { encoding: 'utf8', recursive: true }).flatMap((name) =>
        name.endsWith('.hbs') ? join(set, name) : [],
      )
    : [];

const limitsSchema = trainingLimits
  .extend({
    tokens: count(1)
      .optional()
      .describe("Number of tokens sampled in updates after which training ends; evaluations don't count"),
  })
  .prefault({})
  .describe(limitsText);

/** Settings shared by agents and proposers. */
export const learningSettings = z.strictObject({
  ...languageModelSettings({
    learningRate: 1e-5,
    schedule: 'constant',
    warmupSteps: 0,
    weightDecay: 0,
    checkpointEvery: 10,
  }),
  model: z
    .string()
    .min(1)
    .describe(
      'Model directory, or GGUF file with method lora; `package:models/tiny-bytes` is for training from scratch',
    )
    .meta({ format: 'path' }),
  objective: objectiveSchema.describe('Objective that updates maximise'),
  method: rlMethod.prefault({ kind: 'lora' }).describe('Weights to train'),
  seed: count(0).default(0).describe('Seed for starting states, sampling and initial weights'),
  updates: count(1)
    .default(100)
    .describe('Number of updates; each collects new experience and learns from it'),
  epochs: count(1).default(1).describe('Passes over the experience of an update'),
  minibatches: count(1).default(1).describe('Minibatches per epoch, with one optimiser step each'),
  advantages: z
    .enum(advantageScales)
    .default('group')
    .describe(
      'Scale by which grpo and reinforce divide advantages: the standard deviation of the `group` or the `batch`, or `none`',
    ),
  limits: limitsSchema,
  result: z
    .enum(['best', 'last'])
    .default('best')
    .describe(
      'Weights to write: those of the best evaluation, or the last ones; can be changed after training, too',
    ),
});

export type LearningSettings = z.output<typeof learningSettings>;

type CheckedSettings = Pick<LearningSettings, 'epochs' | 'minibatches' | 'objective'> & {
  readonly groupSize: number;
  readonly reward: { readonly shuffle: boolean };
};

/** Rejects settings that the objective ignores or can't learn with. */
export function checkObjective(
  { epochs, groupSize, minibatches, objective: { kind }, reward }: CheckedSettings,
  reject: (path: readonly string[], message: string) => void,
): void {
  if (groupSize === 1 && kind !== 'ppo')
    reject(['groupSize'], `must be at least 2: ${kind} compares the members of a group`);
  if (kind === 'ppo' && reward.shuffle)
    reject(['reward', 'shuffle'], "ppo doesn't compare the members of a group: use grpo or rloo");
  if (kind === 'reinforce' && epochs * minibatches > 1)
    reject(
      [epochs > 1 ? 'epochs' : 'minibatches'],
      'must be 1: the gradient of reinforce is only valid for one step; use grpo for several',
    );
}
