/**
 * The variables of prompt templates: types, template checks and the list in `prompts/README.md` derive from these
 * schemas. Numbers that are only displayed are formatted as text; optional values are null, never missing.
 */
import { z } from 'zod';
import { demonstratedSchema } from './demonstrations.js';

const count = z.int().min(0);
const flag = z.boolean();
const text = z.string();

const spaceSchema = z.strictObject({
  discrete: z
    .strictObject({
      count: count.describe('Number of values'),
      first: count.describe('Smallest value'),
      last: count.describe('Largest value'),
    })
    .nullable()
    .describe('Set if it is a single integer'),
  box: z
    .strictObject({
      length: count.describe('Number of components'),
      components: z
        .array(
          z.strictObject({
            index: count.describe('Position in the vector'),
            low: text.nullable().describe('Smallest value; null if unbounded'),
            high: text.nullable().describe('Largest value; null if unbounded'),
          }),
        )
        .describe('Its components'),
    })
    .nullable()
    .describe('Set if it is a vector of real numbers'),
  tuple: z
    .strictObject({
      length: count.describe('Number of parts'),
      parts: z
        .array(
          z.strictObject({
            index: count.describe('Position'),
            first: count.describe('Smallest value'),
            last: count.describe('Largest value'),
          }),
        )
        .describe('Its parts'),
    })
    .nullable()
    .describe('Set if it is a tuple of integers'),
});

const namesSchema = z.array(
  z.strictObject({
    label: text.describe('Its index in brackets, or the value where it is one integer'),
    name: text.describe('Its name'),
  }),
);

/** Variables for the description of an environment, in addition to the facts of that environment. */
export const descriptionSchema = z.strictObject({
  id: text.describe('Environment id'),
  stepLimit: count.describe('Step limit of an episode'),
  observation: spaceSchema.describe('Observation space'),
  action: spaceSchema.describe('Action space'),
  options: z
    .array(z.strictObject({ name: text.describe('Name'), value: text.describe('Value as JSON') }))
    .describe('Environment options set in the config'),
  words: z
    .strictObject({
      description: text.nullable().describe('Its description; null if it has none'),
      observations: namesSchema.describe('Names of the components, or values, of an observation'),
      actions: namesSchema.describe('Names of the components, or values, of an action'),
    })
    .describe('How an environment of a module describes itself'),
});

const projectionSchema = z
  .strictObject({
    weights: count.describe('Number of weights, biases included'),
    lastWeight: count.describe('Index of the last weight'),
    scale: text.nullable().describe('Scale factor of the projection; null if it is 1'),
  })
  .nullable()
  .describe('Set if the parameters are coordinates in a random subspace of the weights');

const linearSchema = z.strictObject({
  observations: count.describe('Length of the observation'),
  outputs: count.describe('Number of outputs: actions, or components of the action'),
  bias: flag.describe('True if each output has a bias'),
  listed: flag.describe('True if the parameters are the weights row by row, then the biases'),
  biasStart: count.describe('Index of the first bias: the number of weights'),
  discrete: flag.describe(
    'True if the action is the index of the largest output; false if the outputs are the action',
  ),
  single: flag.describe('True if there is exactly one output'),
  columns: text.describe('Names of the outputs, in order'),
  rows: z
    .array(
      z.strictObject({
        label: text.describe('`observation[i]`, or `bias`'),
        parameters: text.describe('Its parameter for each output, in order'),
      }),
    )
    .describe('The meaning of each parameter; empty if the weights are projected'),
  projection: projectionSchema,
});

const networkSchema = z.strictObject({
  observations: count.describe('Length of the observation'),
  hiddenLayers: count.describe('Number of hidden layers'),
  oneLayer: flag.describe('True if it is exactly one'),
  activation: text.describe('Activation function of the hidden units: `tanh`, `relu` or `leaky-relu`'),
  definition: text.nullable().describe('Its definition, if the name alone is not clear'),
  discrete: flag.describe(
    'True if the action is the index of the largest output; false if the outputs are the action',
  ),
  columns: text.describe('Names of the outputs, in order'),
  layers: z
    .array(
      z.strictObject({
        number: count.describe('Number, from 1'),
        last: flag.describe('True for the output layer'),
        inputs: count.describe('Number of inputs'),
        units: count.describe('Number of units'),
        lastUnit: count.describe('Index of the last unit'),
        input: text.describe('Name of its inputs: `observation`, `h1`, …'),
        output: text.describe('Name of its units: `h1`, …, `score` or `action`'),
        weights: text.describe('Index of a weight, as a formula in i and j'),
        biases: text.describe('Index of a bias, as a formula in j'),
      }),
    )
    .describe('The layers, starting at the observation'),
  projection: projectionSchema,
});

const tableSchema = z.strictObject({
  holdsActions: flag.describe(
    'True if the table has one action per state; false if it has a value per action',
  ),
  states: count.describe('Number of states'),
  lastState: count.describe('Index of the last state'),
  actionCount: count.describe('Number of actions'),
  actions: z
    .array(
      z.strictObject({
        number: count.describe('Its number in the table, or its position among the values'),
        label: text.describe('The action itself'),
      }),
    )
    .describe('The actions'),
  labelled: flag.describe('True if actions differ from their numbers'),
  stateFormula: text.nullable().describe('Formula for the state; null if the observation is the state'),
  bins: z
    .array(
      z.strictObject({
        index: count.describe('Position in the observation'),
        ranges: text.describe('Its bins and their ranges'),
      }),
    )
    .describe('The bins of each component, if the observation is discretised'),
});

const failureText = z.strictObject({ text: text.describe('The affected values, as written in the reply') });

const seenSchema = z.strictObject({
  iteration: text.nullable().describe('The iteration that evaluated them; null if unknown'),
  warmup: flag.describe('True if it was in the warm-up'),
  score: text.nullable().describe('Their score; null if unknown'),
});

export const failureSchema = z.strictObject({
  missing: flag.describe('The reply has no parameters'),
  truncated: flag.describe('The reply was cut off before the parameters were complete'),
  echo: flag.describe('The reply only repeats sets from the prompt, or the format example'),
  count: z
    .strictObject({
      found: count.describe('Number of values in the reply'),
      one: flag.describe('True if it is exactly one'),
      absent: text.nullable().describe('The missing parameters'),
      unknown: text.nullable().describe('Parameters that do not exist'),
    })
    .nullable()
    .describe('Parameters are missing, or there are too many'),
  range: failureText.nullable().describe('Values outside the range, or not among the choices'),
  decimals: failureText.nullable().describe('Values with too many decimals'),
  duplicate: failureText.nullable().describe('Parameters with two different values'),
  notFinite: failureText.nullable().describe('Values that are not finite numbers'),
  repeated: seenSchema.nullable().describe('The same parameters were proposed before'),
  tooClose: seenSchema
    .extend({
      distance: text.describe('Their distance, in percent of the range (for a table, of its entries)'),
      least: text.describe('The minimum distance, in percent'),
    })
    .nullable()
    .describe('The parameters are too close to earlier ones (`novelty`)'),
  tooFar: z
    .strictObject({
      distance: text.describe(
        'The size of the change, in percent of the range (for a table, of its entries)',
      ),
      most: text.describe('The maximum change, in percent'),
    })
    .nullable()
    .describe('The revision changes too much (`critic` only)'),
  ambiguous: z
    .strictObject({ first: text.describe('First reading'), second: text.describe('Second reading') })
    .nullable()
    .describe('Always null; kept for prompt sets of earlier versions'),
});

/** Variables that are constant during a run. */
export const taskContextSchema = z.strictObject({
  environment: descriptionSchema
    .extend({ description: text.describe('Description of the environment, from its own template') })
    .describe('The task'),
  policy: z
    .strictObject({
      linear: linearSchema.nullable().describe('Set if the policy is linear'),
      table: tableSchema.nullable().describe('Set if the policy is a table'),
      network: networkSchema.nullable().describe('Set if the policy is a network'),
      own: z
        .strictObject({
          name: text.describe('Its name'),
          description: text.describe('How parameters become actions, as described by the module'),
        })
        .nullable()
        .describe('Set if the policy comes from a module'),
    })
    .describe('How parameters become actions'),
  parameters: z
    .strictObject({
      count: count.describe('Total number'),
      lastIndex: count.describe('Index of the last one'),
      single: flag.describe('True if there is only one'),
      integer: flag.describe('True if they are integers'),
      low: text.describe('Smallest value'),
      high: text.describe('Largest value'),
      decimals: count.describe('Digits after the decimal point'),
      oneDecimal: flag.describe('True if it is one digit'),
      choices: text.nullable().describe('The allowed values; null if the whole range is allowed'),
    })
    .describe('The parameters to propose'),
  answer: z
    .strictObject({
      json: flag.describe('True if the answer is JSON'),
      changes: flag.describe('True if the answer gives changes to the parameters of a parent'),
      name: text.describe('Name of the values: `params`, or `delta` for changes'),
      example: text.describe('The answer format, with placeholders'),
    })
    .describe('How the model answers'),
  evaluation: z
    .strictObject({
      episodes: count.describe('Episodes per evaluation'),
      single: flag.describe('True if it is exactly one'),
      common: flag.describe('True if all evaluations play the same episodes'),
    })
    .describe('How parameters are evaluated'),
  memory: z
    .strictObject({
      nothing: flag.describe('True if no evaluation is shown'),
      everything: flag.describe('True if all evaluations are shown, within the token budget'),
      best: count.describe('Number of best evaluations shown, if not all are'),
      recent: count.describe('Number of recent evaluations shown, if not all are'),
      chronological: flag.describe('True if the oldest come first'),
      bestLast: flag.describe('True if the best come last'),
      rows: flag.describe('True if sampled steps of an episode are shown'),
      summary: flag.describe('True if a summary of an episode is shown'),
    })
    .describe('The selection of evaluations to show'),
  iterations: count.describe('Iterations of the run'),
  candidates: count.describe('Proposals per iteration'),
  group: flag.describe('True if an iteration has several proposals and the memory holds more than the first'),
  optimum: text.nullable().describe('The best possible score, if set in the config'),
  stepSize: text.nullable().describe('Exploration step, if set in the config'),
  demonstrations: demonstratedSchema
    .nullable()
    .describe('Good episodes to imitate, if set in the config (`demonstrations`)'),
});

const rankedSchema = z.array(
  z.strictObject({
    percent: count.describe(
      'Its score, scaled from the worst (0) to the best (99) shown; 50 if all are equal',
    ),
    score: text.describe('Its score'),
    parameters: text.describe('Its parameters, in the answer format'),
    feedback: text.nullable().describe('Feedback on one of its episodes (`feedback`); null if there is none'),
  }),
);

/** Variables that change from prompt to prompt. */
const progressSchema = z.strictObject({
  iteration: count.describe('The current iteration, from 1'),
  remaining: count.describe('Iterations after this one'),
  continued: flag.describe('True in a continued conversation, where the prompt shows only what is new'),
  history: z
    .strictObject({
      text: text.describe('The evaluations, one per line'),
      shown: count.describe('Number of evaluations shown'),
      total: count.describe('Total number'),
      partial: flag.describe('True if some are omitted'),
      best: rankedSchema.describe('The best evaluations in memory, the best last'),
      others: rankedSchema.describe('The other evaluations in memory, oldest first'),
    })
    .describe('The evaluations shown'),
  best: z
    .strictObject({
      line: text.describe('The best evaluation so far, as a line of the history'),
      score: text.describe('Its score'),
      iteration: count.describe('Its iteration'),
      warmup: flag.describe('True if it comes from the warm-up'),
      since: count.describe('Number of evaluations since then'),
    })
    .nullable()
    .describe('The best evaluation; null before the first one'),
  parent: z
    .strictObject({
      line: text.describe('Its evaluation, as a line of the history'),
      rank: count.describe('Its rank among the parents, from 1 (the best)'),
      of: count.describe('Number of parents'),
      several: flag.describe('True if there are several'),
    })
    .nullable()
    .describe('The parent evaluation, if `proposal` starts from one'),
});

export const promptContextSchema = taskContextSchema.extend(progressSchema.shape);
export const correctionContextSchema = promptContextSchema.extend({
  failure: failureSchema.describe('The problem; exactly one of these is set (format-correction only)'),
});

export type SpaceContext = z.output<typeof spaceSchema>;
export type DescriptionContext = z.output<typeof descriptionSchema>;
export type LinearContext = z.output<typeof linearSchema>;
export type NetworkContext = z.output<typeof networkSchema>;
export type TableContext = z.output<typeof tableSchema>;
export type FailureContext = z.output<typeof failureSchema>;
export type TaskContext = z.output<typeof taskContextSchema>;
export type ProgressContext = z.output<typeof progressSchema>;
export type PromptContext = z.output<typeof promptContextSchema>;
