/**
 * What a prompt template can say. The schemas are the only definition: the TypeScript types, the variables that
 * templates are checked against and the list in `prompts/README.md` all come from them. Numbers that are shown but
 * not compared are text already; what may be absent is null, never missing.
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
    .describe('Where it is one integer'),
  box: z
    .strictObject({
      length: count.describe('Number of components'),
      components: z
        .array(
          z.strictObject({
            index: count.describe('Position in the vector'),
            low: text.nullable().describe('Smallest value; null where there is no bound'),
            high: text.nullable().describe('Largest value; null where there is no bound'),
          }),
        )
        .describe('Its components'),
    })
    .nullable()
    .describe('Where it is a vector of real numbers'),
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
    .describe('Where it is several integers'),
});

const namesSchema = z.array(
  z.strictObject({
    label: text.describe('Its index in brackets, or the value where it is one integer'),
    name: text.describe('Its name'),
  }),
);

/** What the description of an environment may use, beside the facts of that environment. */
export const descriptionSchema = z.strictObject({
  id: text.describe('Environment id'),
  stepLimit: count.describe('Steps after which an episode is cut off'),
  observation: spaceSchema.describe('What the policy sees'),
  action: spaceSchema.describe('What the policy does'),
  options: z
    .array(z.strictObject({ name: text.describe('Name'), value: text.describe('Value as JSON') }))
    .describe("The environment's options that the config sets"),
  words: z
    .strictObject({
      description: text.nullable().describe('Its description; null where it has none'),
      observations: namesSchema.describe('What the numbers, or the values, of an observation are'),
      actions: namesSchema.describe('What the numbers, or the values, of an action are'),
    })
    .describe('What an environment of a module says of itself'),
});

const projectionSchema = z
  .strictObject({
    weights: count.describe('Number of weights, biases included'),
    lastWeight: count.describe('Index of the last of them'),
    scale: text.nullable().describe('Factor of the map; null where it is 1'),
  })
  .nullable()
  .describe('Where the parameters are coordinates of the weights in a random subspace');

const linearSchema = z.strictObject({
  observations: count.describe('Length of the observation'),
  outputs: count.describe('Number of outputs: actions, or components of the action'),
  bias: flag.describe('Whether each output has a bias'),
  listed: flag.describe('Whether the parameters are the weights row by row, then the biases'),
  biasStart: count.describe('Index of the first bias: the number of weights'),
  discrete: flag.describe(
    'Whether the action is the output with the highest value, not the outputs themselves',
  ),
  single: flag.describe('Whether there is one output'),
  columns: text.describe('Names of the outputs, in order'),
  rows: z
    .array(
      z.strictObject({
        label: text.describe('`observation[i]`, or `bias`'),
        parameters: text.describe('The parameter for each output, in order'),
      }),
    )
    .describe('Which parameter is what; none where the weights are projected'),
  projection: projectionSchema,
});

const networkSchema = z.strictObject({
  observations: count.describe('Length of the observation'),
  hiddenLayers: count.describe('Number of hidden layers'),
  oneLayer: flag.describe('Whether that is one'),
  activation: text.describe('What hidden units apply to their sum: `tanh`, `relu` or `leaky-relu`'),
  definition: text.nullable().describe('What that is, where its name does not say it'),
  discrete: flag.describe(
    'Whether the action is the output with the highest value, not the outputs themselves',
  ),
  columns: text.describe('Names of the outputs, in order'),
  layers: z
    .array(
      z.strictObject({
        number: count.describe('From 1'),
        last: flag.describe('Whether it computes the outputs'),
        inputs: count.describe('Number of its inputs'),
        units: count.describe('Number of its units'),
        lastUnit: count.describe('That less one'),
        input: text.describe('What its inputs are called: `observation`, `h1`, …'),
        output: text.describe('What its units are called: `h1`, …, `score` or `action`'),
        weights: text.describe('Where its weights stand, as a formula of i and j'),
        biases: text.describe('Where its biases stand, as a formula of j'),
      }),
    )
    .describe('The layers, from the observation on'),
  projection: projectionSchema,
});

const tableSchema = z.strictObject({
  holdsActions: flag.describe('Whether the table holds one action a state, not a value for each action'),
  states: count.describe('Number of states'),
  lastState: count.describe('Number of states less one'),
  actionCount: count.describe('Number of actions'),
  actions: z
    .array(
      z.strictObject({
        number: count.describe('What stands for it in the table, or its position among the values'),
        label: text.describe('The action itself'),
      }),
    )
    .describe('The actions'),
  labelled: flag.describe('Whether an action is something else than its number'),
  stateFormula: text
    .nullable()
    .describe('How the state follows from the observation; null where it is the observation'),
  bins: z
    .array(
      z.strictObject({
        index: count.describe('Position in the observation'),
        ranges: text.describe('Its bins and their ranges'),
      }),
    )
    .describe('The bins of each component, where the observation was discretised'),
});

const failureText = z.strictObject({ text: text.describe('The values concerned, as the reply wrote them') });

const seenSchema = z.strictObject({
  iteration: text.nullable().describe('The iteration that evaluated them; null where that is not known'),
  warmup: flag.describe('Whether that was before the first iteration'),
  score: text.nullable().describe('Their score, where it is known'),
});

export const failureSchema = z.strictObject({
  missing: flag.describe('The reply held no parameters'),
  truncated: flag.describe('The reply was cut before the parameters were complete'),
  echo: flag.describe('The reply held only sets that the prompt shows, or the example of the format'),
  count: z
    .strictObject({
      found: count.describe('How many values it gave'),
      one: flag.describe('Whether that is one'),
      absent: text.nullable().describe('The parameters it left out'),
      unknown: text.nullable().describe('The parameters that do not exist'),
    })
    .nullable()
    .describe('Parameters were left out or too many'),
  range: failureText.nullable().describe('Values out of the range, or not among the choices'),
  decimals: failureText.nullable().describe('Values with too many decimals'),
  duplicate: failureText.nullable().describe('Parameters that were given different values'),
  notFinite: failureText.nullable().describe('Values that are no numbers'),
  repeated: seenSchema.nullable().describe('These parameters were proposed before'),
  tooClose: seenSchema
    .extend({
      distance: text.describe('How far they are, in percent of the range; of a table, of its entries'),
      least: text.describe('How far they must be, in percent'),
    })
    .nullable()
    .describe('They are too close to these, which were proposed before (`novelty`)'),
  tooFar: z
    .strictObject({
      distance: text.describe('How much they change, in percent of the range; of a table, of its entries'),
      most: text.describe('How much they may change, in percent'),
    })
    .nullable()
    .describe('They change too much of what they revise (`critic` only)'),
  ambiguous: z
    .strictObject({ first: text.describe('The one reading'), second: text.describe('The other') })
    .nullable()
    .describe('Always null: prompt sets of earlier versions name it'),
});

/** What stays the same during a run. */
export const taskContextSchema = z.strictObject({
  environment: descriptionSchema
    .extend({ description: text.describe('What it is and how it works, as its own template tells it') })
    .describe('The task'),
  policy: z
    .strictObject({
      linear: linearSchema.nullable().describe('Where the policy is linear'),
      table: tableSchema.nullable().describe('Where the policy is a table'),
      network: networkSchema.nullable().describe('Where the policy is a network'),
      own: z
        .strictObject({
          name: text.describe('Its name'),
          description: text.describe('How parameters become actions, as the module tells it'),
        })
        .nullable()
        .describe('Where the policy is of a module'),
    })
    .describe('How parameters become actions'),
  parameters: z
    .strictObject({
      count: count.describe('How many there are'),
      lastIndex: count.describe('Index of the last one'),
      single: flag.describe('Whether there is only one'),
      integer: flag.describe('Whether they are integers'),
      low: text.describe('Smallest value'),
      high: text.describe('Largest value'),
      decimals: count.describe('Digits after the decimal point'),
      oneDecimal: flag.describe('Whether that is one digit'),
      choices: text.nullable().describe('The allowed values, where they are not all of the range'),
    })
    .describe('What is proposed'),
  answer: z
    .strictObject({
      json: flag.describe('Whether the answer is JSON'),
      changes: flag.describe('Whether it gives changes, which are added to the parameters of a parent'),
      name: text.describe('What its values are called: `params`, or `delta` for changes'),
      example: text.describe('The format of the answer with placeholders'),
    })
    .describe('How the model answers'),
  evaluation: z
    .strictObject({
      episodes: count.describe('Episodes of an evaluation'),
      single: flag.describe('Whether that is one'),
      common: flag.describe('Whether all evaluations meet the same episodes'),
    })
    .describe('How parameters are evaluated'),
  memory: z
    .strictObject({
      nothing: flag.describe('Whether no evaluation is shown'),
      everything: flag.describe('Whether all evaluations are shown, as far as the token budget allows'),
      best: count.describe('How many of the best are shown, where it is not everything'),
      recent: count.describe('How many of the most recent are shown, where it is not everything'),
      chronological: flag.describe('Whether the oldest come first'),
      bestLast: flag.describe('Whether the best come last'),
      rows: flag.describe('Whether sampled steps of an episode are shown'),
      summary: flag.describe('Whether a summary of an episode is shown'),
    })
    .describe('Which evaluations are shown'),
  iterations: count.describe('Iterations of the run'),
  candidates: count.describe('Proposals an iteration'),
  group: flag.describe(
    'Whether there are several proposals an iteration, and the memory holds more than the first',
  ),
  optimum: text.nullable().describe('The best score there can be, where the config tells it'),
  stepSize: text.nullable().describe('Exploration step, where the config tells it'),
  demonstrations: demonstratedSchema
    .nullable()
    .describe('Good episodes to act alike, where the config names some (`demonstrations`)'),
});

const rankedSchema = z.array(
  z.strictObject({
    percent: count.describe(
      'Its score between the worst (0) and the best (99) shown; 50 where all are equal',
    ),
    score: text.describe('Its score'),
    parameters: text.describe('Its parameters, in the format of an answer'),
    feedback: text
      .nullable()
      .describe('What was said of an episode of it (`feedback`); null where nothing was'),
  }),
);

/** What changes from prompt to prompt. */
const progressSchema = z.strictObject({
  iteration: count.describe('The iteration that this prompt is for, from 1'),
  remaining: count.describe('Iterations after this one'),
  continued: flag.describe(
    'Whether earlier prompts and answers stand before this one, so that only news is shown',
  ),
  history: z
    .strictObject({
      text: text.describe('The evaluations, one a line'),
      shown: count.describe('How many evaluations it holds'),
      total: count.describe('How many there are'),
      partial: flag.describe('Whether it leaves some out'),
      best: rankedSchema.describe('The best of them, as many as the memory keeps, the best last'),
      others: rankedSchema.describe('The rest of them, oldest first'),
    })
    .describe('The evaluations that are shown'),
  best: z
    .strictObject({
      line: text.describe('The best evaluation so far, as a line of the history'),
      score: text.describe('Its score'),
      iteration: count.describe('The iteration it comes from'),
      warmup: flag.describe('Whether it comes from before the first iteration'),
      since: count.describe('How many evaluations came after it'),
    })
    .nullable()
    .describe('Null before the first evaluation'),
  parent: z
    .strictObject({
      line: text.describe('Its evaluation, as a line of the history'),
      rank: count.describe('Its rank among the parents, from 1: the best'),
      of: count.describe('Number of parents'),
      several: flag.describe('Whether there are several'),
    })
    .nullable()
    .describe('What this proposal goes on from, where `proposal` has it go on from one'),
});

export const promptContextSchema = taskContextSchema.extend(progressSchema.shape);
export const correctionContextSchema = promptContextSchema.extend({
  failure: failureSchema.describe('What was wrong; one of these is set (format-correction only)'),
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
export type CorrectionContext = z.output<typeof correctionContextSchema>;
