/** What the prompt templates of a critic can say; see `prompt-context.ts`. */
import { z } from 'zod';
import { failureSchema, taskContextSchema } from './prompt-context.js';

const count = z.int().min(0);
const flag = z.boolean();
const text = z.string();

const statisticsSchema = z.strictObject({
  episodes: count.describe('How many episodes'),
  return: text.describe('Mean, extremes and quartiles of their returns'),
  length: text.describe('Steps of an episode: the median, and the middle half'),
  endings: z
    .array(
      z.strictObject({
        terminated: flag.describe('Whether the task ended them, not the limit of steps'),
        episodes: count.describe('How many episodes ended so'),
        return: text.describe('Their mean return'),
        length: text.describe('Their steps'),
        last: text.describe('What was observed last: values with how often, or each component'),
      }),
    )
    .describe('How episodes ended, the more frequent first'),
  figures: z
    .array(
      z.strictObject({
        name: text.describe('What it is a figure of: effort, streaks, states'),
        value: text.describe('The median over the episodes, and the middle half'),
      }),
    )
    .describe('Figures of the episodes'),
});

/** What a critic is asked about. */
const revisionSchema = z.strictObject({
  iteration: count.describe('The iteration that this prompt is for, from 1'),
  remaining: count.describe('Iterations after this one'),
  revised: z
    .strictObject({
      parameters: text.describe('Its parameters, in the format of an answer'),
      score: text.describe('Its score'),
      best: flag.describe('Whether no evaluation before it had a higher one'),
    })
    .describe('The proposal that is to be revised'),
  best: z
    .strictObject({
      score: text.describe('Its score'),
      parameters: text.describe('Its parameters, in the format of an answer'),
    })
    .nullable()
    .describe('The best evaluation before; null where there is none'),
  table: flag.describe('Whether the parameters are entries of a table, not points of a range'),
  most: text
    .nullable()
    .describe('How much may change, in percent of the range, or of the entries of a table; null: all'),
  statistics: statisticsSchema.nullable().describe('What all episodes show, where the critic is shown that'),
  episode: z
    .strictObject({
      number: count.describe('Its number within the evaluation, from 1'),
      of: count.describe('How many episodes there are'),
      text: text.describe(
        'Sampled steps, one a line: number, observation, action and reward; then how it ended',
      ),
    })
    .nullable()
    .describe('The episode with the median return, where the critic is shown that'),
});

export const criticContextSchema = taskContextSchema.extend(revisionSchema.shape);
export const criticCorrectionSchema = criticContextSchema.extend({
  failure: failureSchema.describe('What was wrong; one of these is set (format-correction only)'),
});

export type StatisticsContext = z.output<typeof statisticsSchema>;
export type CriticContext = z.output<typeof criticContextSchema>;
