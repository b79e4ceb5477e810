import { z } from 'zod';

const nonNegativeNumber = (preset: number) => z.number().min(0).default(preset);

const clipSchema = z
  .strictObject({
    low: z.number().min(0).max(1).default(0.2).describe('Lower limit: ratios below 1 − low are clipped'),
    high: nonNegativeNumber(0.28).describe('Upper limit: ratios above 1 + high are clipped'),
  })
  .prefault({})
  .describe('Clipping of probability ratios');

const entropy = z
  .union([
    z.number().min(0),
    z.strictObject({
      from: z.number().min(0).describe('Weight in the first update'),
      to: nonNegativeNumber(0).describe('Weight after the last update'),
    }),
  ])
  .default(0)
  .describe('Weight of the entropy bonus; `{from, to}` interpolates linearly over the training run');

const maxImportance = nonNegativeNumber(3).describe(
  'Maximum importance weight of a completion, the ratio of trainer to sampler probability; completions above it (e.g. because of 4-bit weights) are left out; 0: no weighting',
);

export const advantageScales = ['group', 'batch', 'none'] as const;

const grpoVariants = ['dapo', 'grpo', 'dr_grpo'] as const;

const grpoSchema = z.strictObject({
  kind: z.literal('grpo').describe('Group-relative policy optimisation'),
  variant: z
    .enum(grpoVariants)
    .default('dapo')
    .describe(
      'Averaging of the loss: over the tokens of an optimiser step (dapo) or of each completion (grpo), or as if every completion had the maximum length (dr_grpo)',
    ),
  clip: clipSchema,
  kl: nonNegativeNumber(0).describe(
    'Weight of the KL divergence from the initial model, subtracted from the objective; 0: no reference is loaded',
  ),
  entropy,
  maxImportance,
});

const rewardKl = nonNegativeNumber(0).describe(
  'Weight of the log-probability ratio to the initial model, subtracted from the reward; 0: no reference is loaded',
);

const rlooSchema = z.strictObject({
  kind: z
    .literal('rloo')
    .describe('REINFORCE with the mean reward of the others in the group as the baseline'),
  clip: clipSchema,
  kl: rewardKl,
  entropy,
  maxImportance,
});

const ppoSchema = z.strictObject({
  kind: z.literal('ppo').describe('Proximal policy optimisation with a value head'),
  clip: clipSchema,
  rewardScale: z
    .number()
    .positive()
    .default(1)
    .describe('Factor for rewards; values are learned best if returns are close to 1'),
  valueClip: z
    .number()
    .positive()
    .default(0.2)
    .describe('Clipping range of value estimates: the previous ones ± this value'),
  valueCoefficient: nonNegativeNumber(0.1).describe('Weight of the value loss'),
  discount: z.number().min(0).max(1).default(1).describe('γ: discount factor per token'),
  lambda: z
    .number()
    .min(0)
    .max(1)
    .default(0.95)
    .describe('λ of generalised advantage estimation: 0 relies on the values, 1 on the returns'),
  kl: rewardKl,
  entropy,
  maxImportance,
});

const reinforceSchema = z.strictObject({
  kind: z.literal('reinforce').describe('Plain policy gradient, with one optimiser step per update'),
  entropy,
  maxImportance,
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
export type CommonSettings = Pick<ReinforceSettings, 'entropy' | 'maxImportance'>;
