/** What the prompt templates of a vision model that gives feedback can say; see `prompt-context.ts`. */
import { z } from 'zod';
import { failureSchema, taskContextSchema } from './prompt-context.js';

const count = z.int().min(0);
const flag = z.boolean();
const text = z.string();

/** What feedback is asked on. */
const seenSchema = z.strictObject({
  iteration: count.describe('The iteration of the evaluation, from 1'),
  evaluated: z
    .strictObject({
      parameters: text.describe('Its parameters, in the format of an answer'),
      score: text.describe('Its score'),
      best: flag.describe('Whether no evaluation before it had a higher one'),
    })
    .describe('The evaluation that the episode is of'),
  episode: z
    .strictObject({
      number: count.describe('Its number within the evaluation, from 1'),
      of: count.describe('How many episodes there are'),
      return: text.describe('Its return'),
      steps: count.describe('Its steps'),
      terminated: flag.describe('Whether the task ended it, not the limit of steps'),
    })
    .describe('The episode with the median return'),
  frames: z
    .array(
      z.strictObject({
        number: count.describe('Which of the pictures it is, from 1'),
        step: count.describe('Steps taken until then'),
      }),
    )
    .describe('The pictures that are sent with the prompt, in their order'),
});

export const feedbackContextSchema = taskContextSchema.extend(seenSchema.shape);
export const feedbackCorrectionSchema = feedbackContextSchema.extend({
  failure: failureSchema.describe('What was wrong; one of these is set (format-correction only)'),
});

export type FeedbackContext = z.output<typeof feedbackContextSchema>;
