/** What the templates of an agent may use. */
import { z } from 'zod';
import { descriptionSchema } from '../../prompting/context/prompt-context.js';

const text = z.string();
const number = z.number();
const flag = z.boolean();

const actions = z
  .array(z.strictObject({ text: text.describe('Its words') }))
  .nullable()
  .describe('The actions that can be taken, where they can be listed');

const vector = z
  .strictObject({
    length: number.describe('How many numbers'),
    numbers: text.describe('`number`, `numbers` or `whole numbers`'),
    several: flag.describe('Whether there is more than one'),
    example: text.describe('As many zeros'),
  })
  .nullable()
  .describe('Where an action is a list of numbers');

/** What all templates may use. */
const common = {
  json: flag.describe('Whether the reply is to be a JSON object'),
  vector,
};

/** What `system.hbs` is given; `facts` of the environment stand beside it. */
export const systemSchema = z.strictObject({
  ...common,
  environment: descriptionSchema.describe('The environment'),
  description: text
    .nullable()
    .describe('What the package says of the environment, where it has its own words'),
  numeric: flag.describe('Whether observations and actions are numbers'),
  objective: text
    .nullable()
    .describe('What a text world told the player to do, where the turn that said it is not shown any more'),
  actions,
});

/** What `observation.hbs` is given; `state` stands beside it: the observation by the names of its parts. */
export const observationSchema = z.strictObject({
  ...common,
  observation: text.describe('As text'),
  step: number.describe('Number of the step, 1 for the first'),
  first: flag.describe('Whether it is the first'),
  stepLimit: number.describe('Steps after which an episode is cut off'),
  reward: text.nullable().describe('The reward of the step before'),
  score: text.nullable().describe('The score so far, of a text world'),
  maxScore: text.nullable().describe('The score of a game that is won, of a text world'),
  actions,
});

/** What `ask-again.hbs` is given, for a reply that named no action. */
export const askAgainSchema = z.strictObject({ ...common, actions });

export type SystemContext = z.output<typeof systemSchema>;
export type ObservationContext = z.output<typeof observationSchema>;
export type AskAgainContext = z.output<typeof askAgainSchema>;
