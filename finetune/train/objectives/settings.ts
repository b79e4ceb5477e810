import { z } from 'zod';

const share = (preset: number) => z.number().min(0).default(preset);

const clipSchema = z
  .strictObject({
    low: z.number().min(0).max(1).default(0.2).describe('Ratios below 1 − low are clipped'),
    high: share(0.28).describe('Ratios above 1 + high are clipped'),
  })
  .prefault({})
  .describe('Clipping of probability ratios');

const klSchema = z
  .strictObject({
    coefficient: share(0).describe(
      'Weight of the KL divergence from the reference; 0: no reference is loaded',
    ),
    biasCorrection: z
      .boolean()
      .default(true)
      .describe('Multiply the KL term by the probability ratio, so that its gradient is unbiased'),
  })
  .prefault({})
  .describe('KL penalty that keeps the policy close to the initial model');

const rewardKl = share(0).describe(
  'Weight of the log-probability ratio to the reference, subtracted from the reward; 0: no reference is loaded',
);

const entropy = z
  .union([
    z.number().min(0),
    z.strictObject({
      from: z.number().min(0).describe('Weight in the first update'),
      to: share(0).describe('Weight after the last update'),
    }),
  ])
  .default(0)
  .describe('Weight of the entropy bonus; `{from, to}` interpolates linearly over the training run');

const importanceKinds = [
  'none',
  'sequence-mask',
  'sequence-truncate',
  'token-mask',
  'token-truncate',
] as const;

const importanceSchema = z
  .strictObject({
    kind: z
      .enum(importanceKinds)
      .default('sequence-mask')
      .describe(
        'Weights each token by the ratio of trainer to sampler probability, of the token or of its sequence; above the cap, the weight is 0 (mask) or the cap (truncate). `none`: no weights',
      ),
    cap: z.number().positive().default(3).describe('Maximum ratio'),
  })
  .prefault({})
  .describe('Corrects for differences between sampler and trainer, e.g. due to 4-bit weights');

export const advantageScales = ['group', 'batch', 'none'] as const;

const grpoVariants = ['dapo', 'grpo', 'dr_grpo'] as const;

const grpoSchema = z.strictObject({
  kind: z.literal('grpo').describe('Group-relative policy optimisation'),
  variant: z
    .enum(grpoVariants)
    .default('dapo')
    .describe(
      'Averaging of the loss: over the tokens of the update (dapo) or of each completion (grpo), or as if every completion had the maximum length (dr_grpo)',
    ),
  clip: clipSchema,
  kl: klSchema,
  entropy,
  importance: importanceSchema,
});

const rlooSchema = z.strictObject({
  kind: z
    .literal('rloo')
    .describe('REINFORCE with the mean reward of the other completions in the group as the baseline'),
  clip: clipSchema,
  kl: rewardKl,
  entropy,
  importance: importanceSchema,
});

const ppoSchema = z.strictObject({
  kind: z.literal('ppo').describe('Proximal policy optimisation with a value head'),
  clip: clipSchema,
  rewardScale: z
    .number()
    .positive()
    .default(1)
    .describe('Factor for rewards; values are learnt best if returns are close to 1'),
  valueClip: z.number().positive().default(0.2).describe('Clipping range of the value loss'),
  valueCoefficient: share(0.1).describe('Weight of the value loss'),
  discount: z.number().min(0).max(1).default(1).describe('γ: discount factor per token'),
  lambda: z
    .number()
    .min(0)
    .max(1)
    .default(0.95)
    .describe('λ of generalised advantage estimation: 0 relies on the values, 1 on the returns'),
  kl: rewardKl,
  entropy,
  importance: importanceSchema,
});

const reinforceSchema = z.strictObject({
  kind: z.literal('reinforce').describe('Plain policy gradient with one update per batch'),
  entropy,
  importance: importanceSchema,
});

export const objectiveSchema = z.discriminatedUnion('kind', [
  grpoSchema,
  rlooSchema,
  ppoSchema,
  reinforceSchema,
]);

export type ObjectiveSettings = z.output<typeof objectiveSchema>;
export type GrpoSettings = Extract<ObjectiveSettings, { kind: 'grpo' }>;
export type RlooSettings = Extract<ObjectiveSettings, { kind: 'rloo' }>;
export type PpoSettings = Extract<ObjectiveSettings, { kind: 'ppo' }>;
export type ReinforceSettings = Extract<ObjectiveSettings, { kind: 'reinforce' }>;
export type ClipSettings = GrpoSettings['clip'];
export type KlSettings = GrpoSettings['kl'];
export type ImportanceSettings = GrpoSettings['importance'];
export type CommonSettings = Pick<ReinforceSettings, 'entropy' | 'importance'>;
