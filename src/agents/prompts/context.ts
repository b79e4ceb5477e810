/** The variables available to an agent's templates. */
import { z } from 'zod';
import { descriptionSchema } from '../../prompting/context/prompt-context.js';

const text = z.string();
const number = z.number();
const flag = z.boolean();

const actions = z
  .array(z.strictObject({ text: text.describe('Its name') }))
  .nullable()
  .describe('The possible actions, if they can be listed');

const vector = z
  .strictObject({
    length: number.describe('Number of components'),
    numbers: text.describe('`number`, `numbers` or `whole numbers`'),
    several: flag.describe('True if there are several'),
    example: text.describe('Example: that many zeros'),
  })
  .nullable()
  .describe('Set if an action is a list of numbers');

/** Variables of all templates. */
const common = {
  json: flag.describe('True if the reply must be a JSON object'),
  vector,
};

/** Variables of `system.hbs`, in addition to `facts` of the environment. */
export const systemSchema = z.strictObject({
  ...common,
  environment: descriptionSchema.describe('The environment'),
  description: text.nullable().describe('Description of the environment, if the package has one'),
  numeric: flag.describe('True if observations and actions are numbers'),
  objective: text
    .nullable()
    .describe('The goal of a text world, once the turn that stated it is no longer shown'),
  actions,
});

/** Variables of `observation.hbs`, in addition to `state`: the observation by the names of its parts. */
export const observationSchema = z.strictObject({
  ...common,
  observation: text.describe('Observation text'),
  step: number.describe('Number of the step, from 1'),
  first: flag.describe('True for the first step'),
  stepLimit: number.describe('Step limit of an episode'),
  reward: text.nullable().describe('The reward of the previous step'),
  score: text.nullable().describe('The score so far (text worlds)'),
  maxScore: text.nullable().describe('The score of a won game (text worlds)'),
  actions,
});

/** Variables of `ask-again.hbs`, for a reply that named no action. */
export const askAgainSchema = z.strictObject({ ...common, actions });

export type SystemContext = z.output<typeof systemSchema>;
export type ObservationContext = z.output<typeof observationSchema>;
export type AskAgainContext = z.output<typeof askAgainSchema>;
