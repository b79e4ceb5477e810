/** The variables available to a critic's prompt templates; see `prompt-context.ts`. */
import { z } from 'zod';
import { short } from '../../environments/catalogue/facts.js';
import type { Behaviour, Ending, Quartiles } from '../../rollout/behaviour.js';
import { failureSchema, taskContextSchema } from './prompt-context.js';

const count = z.int().min(0);
const flag = z.boolean();
const text = z.string();

const statisticsSchema = z.strictObject({
  episodes: count.describe('Number of episodes'),
  return: text.describe('Mean, extremes and quartiles of the returns'),
  length: text.describe('Episode length: median and interquartile range'),
  endings: z
    .array(
      z.strictObject({
        terminated: flag.describe('True if the task ended them, not the step limit'),
        episodes: count.describe('Number of episodes with this ending'),
        return: text.describe('Their mean return'),
        length: text.describe('Their lengths'),
        last: text.describe('Last observation: values with their counts, or each component'),
      }),
    )
    .describe('How episodes ended, most frequent first'),
  figures: z
    .array(
      z.strictObject({
        name: text.describe('Name of the figure: effort, streaks, states'),
        value: text.describe('Median and interquartile range over the episodes'),
      }),
    )
    .describe('Further figures of the episodes'),
});

/** Input of a revision prompt. */
const revisionSchema = z.strictObject({
  iteration: count.describe('The current iteration, from 1'),
  remaining: count.describe('Iterations after this one'),
  revised: z
    .strictObject({
      parameters: text.describe('Its parameters, in the answer format'),
      score: text.describe('Its score'),
      best: flag.describe('True if no earlier evaluation has a higher score'),
    })
    .describe('The proposal to revise'),
  best: z
    .strictObject({
      score: text.describe('Its score'),
      parameters: text.describe('Its parameters, in the answer format'),
    })
    .nullable()
    .describe('The best earlier evaluation; null if there is none'),
  table: flag.describe('True if the parameters are entries of a table, not values in a range'),
  most: text
    .nullable()
    .describe("The maximum change, in percent of the range or of the table's entries; null if unlimited"),
  statistics: statisticsSchema.nullable().describe('Statistics of all episodes, if the critic sees them'),
  episode: z
    .strictObject({
      number: count.describe('Its number within the evaluation, from 1'),
      of: count.describe('Number of episodes'),
      text: text.describe(
        'Sampled steps, one per line (number, observation, action, reward), then the ending',
      ),
    })
    .nullable()
    .describe('The episode with the median return, if the critic sees it'),
});

export const criticContextSchema = taskContextSchema.extend(revisionSchema.shape);
export const criticCorrectionSchema = criticContextSchema.extend({
  failure: failureSchema.describe('The problem; exactly one of these is set (format-correction only)'),
});

export type StatisticsContext = z.output<typeof statisticsSchema>;
export type CriticContext = z.output<typeof criticContextSchema>;

export function statisticsContext(behaviour: Behaviour): StatisticsContext {
  const { endings, episodes, figures, length, return: returns } = behaviour;
  return {
    episodes,
    return: `mean ${short(returns.mean)}, lowest ${short(returns.lowest)}, quartiles ${short(returns.low)}, ${short(returns.median)} and ${short(returns.high)}, highest ${short(returns.highest)}`,
    length: spread(length),
    endings: endings.map((ending) => ({
      terminated: ending.how === 'terminated',
      episodes: ending.episodes,
      return: short(ending.return),
      length: spread(ending.length),
      last: lastText(ending.last),
    })),
    figures: figures
      // Something that never happens in any episode carries no information.
      .filter(({ high, low, median }) => low !== 0 || median !== 0 || high !== 0)
      .map(({ name, ...values }) => ({ name, value: spread(values) })),
  };
}

/** The median, and the range of the middle half of the episodes. */
const spread = ({ high, low, median }: Quartiles) =>
  low === high ? short(median) : `${short(median)} (${short(low)} to ${short(high)})`;

function lastText(last: Ending['last']): string {
  return last
    .map((item, i) =>
      'times' in item ? `${item.value}: ${item.times}` : `observation[${i}] ${spread(item)}`,
    )
    .join(', ');
}
