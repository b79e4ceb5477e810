/** The `policy` section of a config. */
import { z } from 'zod';

const count = (minimum: number) => z.int().min(minimum);

const range = (bound: number, note: string) => ({
  low: z.number().default(-bound).describe(`Smallest parameter value${note}`),
  high: z.number().default(bound).describe(`Largest parameter value${note}`),
  decimals: count(0).max(6).default(1).describe(`Digits after the decimal point${note}`),
});

const binsSchema = z.union([
  z.strictObject({
    low: z.number().describe('Lower end of the binned range'),
    high: z.number().describe('Upper end of the binned range'),
    bins: count(1).describe('Number of equal bins; what lies beyond falls into the outermost ones'),
  }),
  z.strictObject({ edges: z.array(z.number()).describe('Inner edges, ascending: one bin more than edges') }),
]);

const projectionSchema = z.strictObject({
  rank: count(1).max(1000).describe('Number of parameters'),
  seed: count(0).default(0).describe('Draws the subspace: the same in every run that says the same'),
});

const orderSchema = z.union([
  z.enum(['rows', 'columns', 'bias-first']),
  z.strictObject({
    shuffled: count(0).describe('Draws the order: the same in every run that says the same'),
  }),
]);

export const linearSchema = z.strictObject({
  kind: z
    .literal('linear')
    .describe(
      'Outputs = observation · W + b: argmax for discrete actions, the outputs themselves for continuous ones',
    ),
  bias: z.boolean().default(true).describe('Whether each output has a bias (after the weights)'),
  projection: projectionSchema
    .optional()
    .describe(
      'Propose the coordinates of the weights in a random subspace of this rank, where weights are too many',
    ),
  order: orderSchema
    .optional()
    .describe(
      'How the weights stand among the parameters. `rows` (default): observation by observation, the biases last. `columns`: output by output, the bias of each after its weights. `bias-first`: the biases, then `rows`',
    ),
  ...range(6, ''),
});

export const mlpSchema = z.strictObject({
  kind: z
    .literal('mlp')
    .describe(
      'A small network: hidden layers, then outputs that are used as those of `linear`. Its parameters stand layer by layer: the weights row by row (a row an input), then the biases',
    ),
  hidden: z
    .array(count(1).max(1000))
    .min(1)
    .max(4)
    .default([8])
    .describe('Widths of the hidden layers; at most 5000 weights and biases, 20000 with `projection`'),
  activation: z
    .enum(['tanh', 'relu', 'leaky-relu'])
    .default('tanh')
    .describe('What hidden units apply to their sum; `leaky-relu` keeps a fifth of a negative one'),
  projection: projectionSchema
    .optional()
    .describe('Propose the coordinates of all weights in a random subspace of this rank'),
  ...range(6, ''),
});

export const qTableSchema = z.strictObject({
  kind: z.literal('q-table').describe('A table over discrete (or discretised) states'),
  form: z
    .enum(['actions', 'values'])
    .default('actions')
    .describe('`actions`: one action a state. `values`: a value for every state and action, greedy choice'),
  discretize: z
    .array(binsSchema)
    .min(1)
    .optional()
    .describe('Bins, one item for each observation dimension; needed where the observation is continuous'),
  actions: z
    .array(z.array(z.number()).min(1))
    .min(1)
    .optional()
    .describe(
      'The action vectors to choose among, where the action space is continuous, e.g. `[[-1], [0], [1]]`',
    ),
  ...range(10, ' (form `values`)'),
});

export const modulePolicySchema = z.strictObject({
  kind: z
    .literal('module')
    .describe('A file of your own that makes the policies; `{kind: ./my-policy.js}` is short for it'),
  path: z.string().min(1).describe('Path of the JavaScript file').meta({ format: 'path' }),
  options: z.record(z.string(), z.unknown()).default({}).describe('What its `create` is given'),
});

export type BuiltInPolicyConfig = LinearConfig | MlpConfig | QTableConfig;
export type PolicyConfig = BuiltInPolicyConfig | ModulePolicyConfig;
export type ModulePolicyConfig = z.output<typeof modulePolicySchema>;
export type LinearConfig = z.output<typeof linearSchema>;
export type MlpConfig = z.output<typeof mlpSchema>;
export type LinearOrder = z.output<typeof orderSchema>;
export type ProjectionConfig = z.output<typeof projectionSchema>;
export type QTableConfig = z.output<typeof qTableSchema>;
