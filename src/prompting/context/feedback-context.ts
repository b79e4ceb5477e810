/** The variables available to the prompt templates of a vision model that gives feedback; see `prompt-context.ts`. */
import { z } from 'zod';
import { failureSchema, taskContextSchema } from './prompt-context.js';

const count = z.int().min(0);
const flag = z.boolean();
const text = z.string();

const seenSchema = z.strictObject({
  iteration: count.describe('The iteration of the evaluation, from 1'),
  evaluated: z
    .strictObject({
      parameters: text.describe('Its parameters, in the answer format'),
      score: text.describe('Its score'),
      best: flag.describe('True if no earlier evaluation has a higher score'),
    })
    .describe('The evaluation of the episode'),
  episode: z
    .strictObject({
      number: count.describe('Its number within the evaluation, from 1'),
      of: count.describe('Number of episodes'),
      return: text.describe('Its return'),
      steps: count.describe('Its length in steps'),
      terminated: flag.describe('True if the task ended it, not the step limit'),
    })
    .describe('The episode with the median return'),
  frames: z
    .array(
      z.strictObject({
        number: count.describe('Number of the picture, from 1'),
        step: count.describe('Steps taken before it'),
      }),
    )
    .describe('The pictures sent with the prompt, in order'),
});

export const feedbackContextSchema = taskContextSchema.extend(seenSchema.shape);
export const feedbackCorrectionSchema = feedbackContextSchema.extend({
  failure: failureSchema.describe('The problem; exactly one of these is set (format-correction only)'),
});

export type FeedbackContext = z.output<typeof feedbackContextSchema>;
