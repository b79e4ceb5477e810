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
    bins: count(1).describe(
      'Number of bins of equal width; values outside the range fall into the outermost ones',
    ),
  }),
  z.strictObject({ edges: z.array(z.number()).describe('Inner edges, ascending; n edges make n + 1 bins') }),
]);

const projectionSchema = z.strictObject({
  rank: count(1).max(1000).describe('Dimension of the subspace, which is the number of parameters'),
  seed: count(0).default(0).describe('Seed that determines the subspace'),
});

export const linearSchema = z.strictObject({
  kind: z
    .literal('linear')
    .describe(
      'Linear policy with outputs = observation · W + b. A discrete action is the index of the largest output; a continuous action consists of the outputs',
    ),
  bias: z.boolean().default(true).describe('True to give each output a bias'),
  projection: projectionSchema
    .optional()
    .describe(
      'Random subspace whose coordinates are proposed instead of all weights, e.g. if there are too many weights',
    ),
  ...range(6, ''),
});

export const mlpSchema = z.strictObject({
  kind: z
    .literal('mlp')
    .describe(
      'Small network: hidden layers, then outputs as in `linear`. Without `projection`, parameters are ordered by layer: the weights row by row (one row per input), then the biases',
    ),
  hidden: z
    .array(count(1).max(1000))
    .min(1)
    .max(4)
    .default([8])
    .describe(
      'Number of units in each hidden layer. The network may have at most 5000 weights and biases, or 20000 with `projection`',
    ),
  activation: z
    .enum(['tanh', 'relu', 'leaky-relu'])
    .default('tanh')
    .describe('Activation function of hidden units; `leaky-relu` has slope 0.2 for negative inputs'),
  projection: projectionSchema
    .optional()
    .describe('Random subspace whose coordinates are proposed instead of all weights'),
  ...range(6, ''),
});

export const qTableSchema = z.strictObject({
  kind: z.literal('q-table').describe('Lookup table indexed by the discrete (or discretised) state'),
  form: z
    .enum(['actions', 'values'])
    .default('actions')
    .describe(
      'Content of the table. `actions`: one action per state. `values`: one value per state and action; the policy chooses the action with the highest value',
    ),
  discretize: z
    .array(binsSchema)
    .min(1)
    .optional()
    .describe('Bins for each dimension of the observation; required if observations are continuous'),
  actions: z
    .array(z.array(z.number()).min(1))
    .min(1)
    .optional()
    .describe('Action vectors to choose from if actions are continuous, e.g. `[[-1], [0], [1]]`'),
  ...range(10, ' (form `values`)'),
});

export const modulePolicySchema = z.strictObject({
  kind: z.literal('module').describe('Policies from your own file; short form: `{kind: ./my-policy.js}`'),
  path: z.string().min(1).describe('Path of the JavaScript or TypeScript file').meta({ format: 'path' }),
  options: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("Options passed to the file's `create` function"),
});

export const programSchema = z.strictObject({
  kind: z
    .literal('program')
    .describe(
      'JavaScript functions `act(observation, memory, constants)`, which run in a sandbox (docs/how-to/programs.md)',
    ),
  edits: z
    .boolean()
    .optional()
    .describe('True to edit the best program so far with search-and-replace blocks (default: false)'),
  tune: z
    .strictObject({
      by: z.enum(['gp', 'cma-es', 'hill-climb']).default('gp').describe('Search method for the constants'),
      evaluations: count(1)
        .default(20)
        .describe('Evaluations per tuning phase, after which the model proposes again'),
      after: count(1).default(10).describe("Evaluations of the model's programs before each tuning phase"),
      of: z
        .union([z.literal('best'), count(1)])
        .default('best')
        .describe('Programs whose constants are tuned: the `best`, or the K best in turn'),
    })
    .optional()
    .describe(
      'Tuning of the constants of the best programs by a numeric search, within the same budget (default: off)',
    ),
});

export type BuiltInPolicyConfig = LinearConfig | MlpConfig | QTableConfig;
export type PolicyConfig = BuiltInPolicyConfig | ProgramConfig | ModulePolicyConfig;
export type ProgramConfig = z.output<typeof programSchema>;
export type ModulePolicyConfig = z.output<typeof modulePolicySchema>;
export type LinearConfig = z.output<typeof linearSchema>;
export type MlpConfig = z.output<typeof mlpSchema>;
export type ProjectionConfig = z.output<typeof projectionSchema>;
export type QTableConfig = z.output<typeof qTableSchema>;
