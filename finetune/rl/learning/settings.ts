import { z } from 'zod';
import { advantageScales, objectiveSchema } from '../../train/objectives/settings.js';
import { count, positive, rlMethod, shared } from '../../train/train-config.js';

const limitsSchema = z
  .strictObject({
    minutes: positive.optional().describe('Maximum minutes, over all sessions'),
    tokens: count(1)
      .optional()
      .describe('Maximum number of tokens sampled in updates; evaluations don’t count'),
  })
  .prefault({})
  .describe('Limits that end training early; the result is still written');

/** Settings shared by agents and proposers. */
export const learningSettings = z.strictObject({
  $schema: shared.$schema,
  model: z
    .string()
    .min(1)
    .describe(
      'Model directory, or GGUF file with method lora; `package:models/tiny-bytes` is for training from scratch',
    )
    .meta({ format: 'path' }),
  objective: objectiveSchema.describe('What an update maximizes'),
  output: shared.output,
  method: rlMethod.prefault({ kind: 'lora' }).describe('What to train'),
  seed: count(0).default(0).describe('Seed for starting states, sampling and initial weights'),
  updates: count(1)
    .default(100)
    .describe('Number of updates; each collects new experience and learns from it'),
  epochs: count(1).default(1).describe('Passes over the experience of an update'),
  minibatches: count(1).default(1).describe('Minibatches per epoch, with one optimizer step each'),
  advantages: z
    .enum(advantageScales)
    .default('group')
    .describe(
      'For grpo and reinforce: divide advantages by the standard deviation of the `group` or the `batch`, or by nothing (`none`)',
    ),
  limits: limitsSchema,
  result: z
    .enum(['best', 'last'])
    .default('best')
    .describe(
      'Weights to write: those of the best evaluation, or the last ones; can be changed after training, too',
    ),
  learningRate: shared.learningRate(1e-5),
  schedule: shared.schedule('constant'),
  warmupSteps: shared.warmupSteps(0),
  weightDecay: z.number().min(0).default(0).describe('Decoupled weight decay of AdamW'),
  betas: shared.betas,
  maxGradientNorm: shared.maxGradientNorm,
  batchTokens: shared.batchTokens,
  checkpointEvery: shared.checkpointEvery(10, 'Updates'),
  template: shared.template,
  ignoreKeys: shared.ignoreKeys,
  device: shared.device,
  threads: shared.threads,
});

type Learnt = Pick<z.output<typeof learningSettings>, 'epochs' | 'minibatches' | 'objective'> & {
  readonly groupSize: number;
  readonly reward: { readonly shuffle: boolean };
};

/** Refuses settings that the objective ignores or can't learn with. */
export function checkObjective(
  { epochs, groupSize, minibatches, objective: { kind }, reward }: Learnt,
  refuse: (path: readonly string[], message: string) => void,
): void {
  if (groupSize === 1 && kind !== 'ppo')
    refuse(['groupSize'], `must be at least 2: ${kind} compares the members of a group`);
  if (kind === 'ppo' && reward.shuffle)
    refuse(['reward', 'shuffle'], "ppo doesn't compare the members of a group: use grpo or rloo");
  if (kind === 'reinforce' && epochs * minibatches > 1)
    refuse(
      [epochs > 1 ? 'epochs' : 'minibatches'],
      'must be 1: the gradient of reinforce is only valid for one step; use grpo for several',
    );
}
