/** Describes a policy's behaviour over all episodes of an evaluation, in prompt wording. */
import { short } from '../../environments/catalogue/facts.js';
import type { Behaviour, Ending, Quartiles } from '../../rollout/behaviour.js';
import type { StatisticsContext } from './critic-context.js';

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
