/**
 * The variables of prompt templates: types, template checks and the list in `prompts/README.md` derive from these
 * schemas. Numbers that are only displayed are formatted as text; optional values are null, never missing.
 */

import { z } from 'zod';
import { count, flag, list, nullable, object, text, textOrNull } from './fields.js';

const spaceSchema = z.strictObject({
  discrete: nullable('Set if the space is a single integer', {
    count: count('Number of values'),
    first: count('Smallest value'),
    last: count('Largest value'),
  }),
  box: nullable('Set if the space is a vector of real numbers', {
    length: count('Number of components'),
    single: flag('True if there is exactly one component'),
    components: list('Components of the vector', {
      index: count('Position in the vector'),
      low: textOrNull('Smallest value; null if unbounded'),
      high: textOrNull('Largest value; null if unbounded'),
    }),
  }),
  tuple: nullable('Set if the space is a tuple of integers', {
    length: count('Number of parts'),
    parts: list('Parts of the tuple', {
      index: count('Position in the tuple'),
      first: count('Smallest value'),
      last: count('Largest value'),
    }),
  }),
});

const namesSchema = z.array(
  z.strictObject({
    label: text('Index in brackets, or the value if the space is a single integer'),
    name: text('Name of the component or value'),
  }),
);

/** Variables for describing any environment; each environment adds its own facts. */
export const descriptionSchema = z.strictObject({
  id: text('Environment id'),
  stepLimit: count('Step limit of an episode'),
  observation: spaceSchema.describe('Observation space'),
  action: spaceSchema.describe('Action space'),
  options: list('Environment options set in the config', {
    name: text('Name of the option'),
    value: text('Value as JSON'),
  }),
  words: object('Texts provided by the module, if the environment comes from one', {
    description: textOrNull('Description of the environment; null if it has none'),
    observations: namesSchema.describe(
      'Names of the components of an observation, or of its values if it is a single integer',
    ),
    actions: namesSchema.describe(
      'Names of the components of an action, or of its values if it is a single integer',
    ),
  }),
});

const projection = nullable('Set if the parameters are coordinates in a random subspace of the weights', {
  weights: count('Number of weights, biases included'),
  lastWeight: count('Index of the last weight'),
  scale: textOrNull('Scale factor of the projection; null if it is 1'),
});

const linearSchema = z.strictObject({
  observations: count('Length of the observation'),
  outputs: count('Number of outputs: actions, or components of the action'),
  bias: flag('True if each output has a bias'),
  biasStart: count('Index of the first bias'),
  discrete: flag(
    'True if the action is the index of the largest output; false if the outputs are the action',
  ),
  single: flag('True if there is exactly one output'),
  columns: text('Names of the outputs, in order'),
  rows: list('The meaning of each parameter; empty if the weights are projected', {
    label: text('`observation[i]`, or `bias`'),
    parameters: text('The parameters of this row, one per output, in order'),
  }),
  projection,
});

const networkSchema = z.strictObject({
  observations: count('Length of the observation'),
  hiddenLayers: count('Number of hidden layers'),
  oneLayer: flag('True if there is exactly one hidden layer'),
  activation: text('Activation function of the hidden units: `tanh`, `relu` or `leaky-relu`'),
  definition: textOrNull('Definition of the activation function; null if the name is enough'),
  discrete: flag(
    'True if the action is the index of the largest output; false if the outputs are the action',
  ),
  columns: text('Names of the outputs, in order'),
  layers: list('The layers, starting at the observation', {
    number: count('Number of the layer, from 1'),
    last: flag('True for the output layer'),
    inputs: count('Number of inputs'),
    units: count('Number of units'),
    lastUnit: count('Index of the last unit'),
    input: text("Name of the layer's inputs: `observation`, `h1`, …"),
    output: text("Name of the layer's units: `h1`, …, `score` or `action`"),
    weights: text('Weight from input i to unit j, such as `params[4 * i + j]`'),
    biases: text('Bias of unit j, such as `params[16 + j]`'),
  }),
  projection,
});

const tableSchema = z.strictObject({
  holdsActions: flag('True if the table has one action per state; false if it has a value per action'),
  states: count('Number of states'),
  lastState: count('Index of the last state'),
  actionCount: count('Number of actions'),
  actions: list('The actions', {
    number: count(
      'Number that stands for the action in the table, or position of its value among those of a state',
    ),
    label: text('The action itself'),
  }),
  labeled: flag('True if any action differs from its number'),
  stateFormula: textOrNull('Formula for the state; null if the observation is the state'),
  bins: list('The bins of each component, if the observation is discretised', {
    index: count('Position in the observation'),
    ranges: text('Bins and their ranges'),
  }),
});

const failureText = z.strictObject({ text: text('Affected parameters, with values except for `duplicate`') });

const earlierUseSchema = z.strictObject({
  iteration: textOrNull('Iteration in which the parameters were proposed or evaluated; null if unknown'),
  warmup: flag('True if that iteration was the warm-up'),
  score: textOrNull('Score of the parameters; null if unknown'),
});

const repeatedSchema = earlierUseSchema.extend({
  sameActions: textOrNull(
    'Episodes in which a different policy chose the same actions, e.g. `20 episodes`; null if the policy is the same',
  ),
  sameStructure: flag('True if the program differs only in its constants'),
});

export const failureSchema = z.strictObject({
  missing: flag('The reply has no parameters (or no program)'),
  truncated: flag('The reply was cut off before the parameters were complete'),
  echo: flag('The reply only repeats parameters from the prompt, or the format example'),
  count: nullable('Parameters are missing, or there are too many', {
    found: count('Number of values in the reply'),
    one: flag('True if there is exactly one value'),
    absent: textOrNull('The missing parameters'),
    unknown: textOrNull('Parameters that do not exist'),
  }),
  range: failureText.nullable().describe('Values outside the range, or not among the choices'),
  decimals: failureText.nullable().describe('Values with too many decimals'),
  duplicate: failureText.nullable().describe('Parameters with two different values'),
  notFinite: failureText.nullable().describe('Values that are not finite numbers'),
  program: nullable("The program can't be used", {
    reason: text('The fault, in one line'),
    line: textOrNull('Line of the program; null if unknown'),
    observation: textOrNull('Observation for which it failed, as JSON; null if unknown'),
  }),
  repeated: repeatedSchema.nullable().describe('An equivalent policy was proposed or evaluated before'),
  tooFar: nullable('The revision changes too much (revisions only)', {
    distance: text('The size of the change, in percent of the range (for a table, of its entries)'),
    most: text('The maximum change, in percent'),
  }),
});

/** Variables that stay the same from prompt to prompt. */
export const taskContextSchema = z.strictObject({
  environment: descriptionSchema
    .extend({ description: text('Description of the environment, from its own template') })
    .describe('The task'),
  policy: object('How parameters become actions', {
    linear: linearSchema.nullable().describe('Set if the policy is linear'),
    table: tableSchema.nullable().describe('Set if the policy is a table'),
    network: networkSchema.nullable().describe('Set if the policy is a network'),
    program: nullable('Set if the policy is a program', {
      names: list('Names of the components of the observation', {
        index: count('Position in the observation'),
        name: text('Property name'),
      }),
      stepSeconds: textOrNull('Simulated seconds per step; null if the task has no time scale'),
      tuned: flag('True if a search tunes the constants of the best programs'),
    }),
    own: nullable('Set if the policy comes from a module', {
      name: text('Name of the policy'),
      description: text('How parameters become actions, as described by the module'),
    }),
  }),
  parameters: object('The parameters to propose', {
    count: count('Number of parameters'),
    lastIndex: count('Index of the last parameter'),
    single: flag('True if there is only one parameter'),
    integer: flag('True if the parameters are integers'),
    low: text('Smallest value'),
    high: text('Largest value'),
    decimals: count('Digits after the decimal point'),
    oneDecimal: flag('True if there is exactly one digit after the decimal point'),
    choices: textOrNull('The allowed values; null if the whole range is allowed'),
  }),
  answer: object('How the model answers', {
    json: flag('True if the answer is JSON'),
    edits: flag('True if the answer changes a program in search-and-replace blocks (`policy.edits`)'),
    example: text('The answer format, with placeholders; for programs, a valid action'),
  }),
  evaluation: object('How parameters are evaluated', {
    episodes: count('Episodes per evaluation'),
    single: flag('True if there is exactly one episode'),
    common: flag('True if all evaluations play the same episodes'),
  }),
  memory: object('Selection of evaluations for prompts', {
    nothing: flag('True if no evaluations are shown'),
    everything: flag('True if all evaluations are shown, within the token budget'),
    best: count('Maximum number of best evaluations shown (`memory.best`); 0 if not set'),
    recent: count('Maximum number of recent evaluations shown (`memory.recent`); 0 if not set'),
    rows: flag('True if sampled steps of an episode are shown'),
    summary: flag('True if a summary of an episode is shown'),
  }),
  iterations: count('Iterations of the run'),
  candidates: count('Proposals per iteration'),
  group: flag('True if there are several proposals per iteration'),
  optimum: textOrNull('The best possible return; null if not set in the config'),
  stepSize: textOrNull('Suggested step size for exploration; null if not set in the config'),
});

const rankedSchema = z.array(
  z.strictObject({
    percent: count('Score on a scale from 0 (worst shown) to 99 (best shown); 50 if all are equal'),
    score: text('Score of the evaluation'),
    parameters: text('Parameters as text: `params[0]: 1.2, …`, or the program'),
  }),
);

/** Variables that change from prompt to prompt. */
const progressSchema = z.strictObject({
  iteration: count('The current iteration, from 1'),
  remaining: count('Iterations after this one'),
  continued: flag(
    'True if earlier evaluations are turns of the conversation (`prompts.layout: conversation`)',
  ),
  history: object('The evaluations shown', {
    text: text('The evaluations, one per line, each followed by its trajectory, if any'),
    shown: count('Number of evaluations shown'),
    total: count('Number of evaluations to select from'),
    partial: flag('True if some evaluations are omitted'),
    best: rankedSchema.describe(
      'The best of the evaluations shown (as many as `memory.best`), the best last; all evaluations shown if `memory.best` and `memory.recent` are not set',
    ),
    others: rankedSchema.describe('The other evaluations shown, oldest first'),
  }),
  best: nullable('The best evaluation; null before the first one', {
    line: text('The best evaluation so far, as a line of the history'),
    score: text('Score of the evaluation'),
    iteration: count('Iteration of the evaluation; 0 for the warm-up'),
    warmup: flag('True if it comes from the warm-up'),
    since: count('Number of evaluations since this one'),
  }),
  parent: nullable('The program to change; null without `policy.edits`', {
    line: text('The program, as a line of the history'),
  }),
});

export const promptContextSchema = taskContextSchema.extend(progressSchema.shape);
export const correctionContextSchema = promptContextSchema.extend({
  failure: failureSchema.describe('The problem; exactly one of its fields is set (format-correction only)'),
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
