/** The variables available to a critic's prompt templates; see `prompting/context/prompt-context.ts`. */

import { z } from 'zod';
import { formatShort } from '../../../environments/catalogue/facts.js';
import { count, flag, list, nullable, object, text, textOrNull } from '../../../prompting/context/fields.js';
import { failureSchema, taskContextSchema } from '../../../prompting/context/prompt-context.js';
import type { Behavior, EpisodeEnding, Quartiles } from '../../../rollout/behavior.js';

const statisticsSchema = z.strictObject({
  episodes: count('Number of episodes'),
  return: text('Mean, extremes and quartiles of the returns'),
  length: text('Episode length: median and interquartile range'),
  endings: list('How episodes ended, most frequent first', {
    terminated: flag('True if the task ended these episodes, not the step limit'),
    episodes: count('Number of episodes with this ending'),
    return: text('Mean return'),
    length: text('Episode lengths: median and interquartile range'),
    last: text(
      'Last observations: how often each value occurred, or the median and quartiles of each component',
    ),
  }),
  figures: list('More statistics of the episodes', {
    name: text('Name of the statistic, such as `longest run of steps with one action`'),
    value: text('Median and interquartile range over the episodes'),
  }),
});

/** Variables of a revision prompt. */
const revisionSchema = z.strictObject({
  iteration: count('The current iteration, from 1'),
  remaining: count('Iterations after this one'),
  revised: object('The proposal to revise', {
    parameters: text('Parameters of the proposal as text: `params[0]: 1.2, …`, or the program'),
    score: text('Score of the proposal'),
    best: flag('True if no earlier evaluation has a higher score'),
  }),
  best: nullable('The best earlier evaluation; null if there is none', {
    score: text('Score of the evaluation'),
    parameters: text('Parameters of the evaluation as text: `params[0]: 1.2, …`, or the program'),
  }),
  table: flag('True if the parameters are choices or integers, so `most` limits how many may change'),
  most: textOrNull(
    "The maximum change, in percent of the range or of the table's entries; null if unlimited",
  ),
  statistics: statisticsSchema.nullable().describe('Statistics of all episodes, if the critic sees them'),
  episode: nullable('The episode with the median return, if the critic sees it', {
    number: count('Number of the episode within the evaluation, from 1'),
    of: count('Number of episodes'),
    text: text(
      'Sampled steps, one per line (number, observation, action, reward), then how the episode ended',
    ),
  }),
});

export const criticContextSchema = taskContextSchema.extend(revisionSchema.shape);
export const criticCorrectionSchema = criticContextSchema.extend({
  failure: failureSchema.describe('The problem; exactly one of its fields is set (format-correction only)'),
});

export type StatisticsContext = z.output<typeof statisticsSchema>;
export type CriticContext = z.output<typeof criticContextSchema>;

export function statisticsContext(behavior: Behavior): StatisticsContext {
  const { endings, episodes, figures, length, return: returns } = behavior;
  return {
    episodes,
    return: `mean ${formatShort(returns.mean)}, lowest ${formatShort(returns.lowest)}, quartiles ${formatShort(returns.low)}, ${formatShort(returns.median)} and ${formatShort(returns.high)}, highest ${formatShort(returns.highest)}`,
    length: quartileText(length),
    endings: endings.map((ending) => ({
      terminated: ending.how === 'terminated',
      episodes: ending.episodes,
      return: formatShort(ending.return),
      length: quartileText(ending.length),
      last: lastText(ending.last),
    })),
    figures: figures
      // Omit statistics whose median and quartiles are 0, because they are uninformative.
      .filter(({ high, low, median }) => low !== 0 || median !== 0 || high !== 0)
      .map(({ name, ...values }) => ({ name, value: quartileText(values) })),
  };
}

/** The median, followed by the quartiles if they differ. */
const quartileText = ({ high, low, median }: Quartiles) =>
  low === high ? formatShort(median) : `${formatShort(median)} (${formatShort(low)} to ${formatShort(high)})`;

function lastText(last: EpisodeEnding['last']): string {
  return last
    .map((item, i) =>
      'times' in item ? `${item.value}: ${item.times}` : `observation[${i}] ${quartileText(item)}`,
    )
    .join(', ');
}
