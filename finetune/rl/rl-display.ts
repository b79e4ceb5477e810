import { styleText } from 'node:util';
import type { CommandContext } from '../../src/base/context.js';
import {
  formatBytes,
  formatCompact,
  formatDuration,
  formatNumber,
  plural,
} from '../../src/format/numbers.js';
import { createProgress, type ProgressMode } from '../../src/format/progress.js';
import type { wordsOf } from './learning-config.js';
import type { RlMetric } from './rl-record.js';

export interface RlDisplay {
  /** @param secondsLeft undefined before the first update */
  show(metric: RlMetric, secondsLeft: number | undefined): void;
  /** Restores the terminal. */
  close(): void;
}

/** Shows the progress of a training run. Its start, evaluations and alarms stay in the scroll-back. */
export function createRlDisplay(
  mode: ProgressMode,
  { counted, measured }: Pick<ReturnType<typeof wordsOf>, 'counted' | 'measured'>,
  context: Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>,
): RlDisplay {
  const progress = createProgress(mode, context);
  const show: RlDisplay['show'] = (metric, secondsLeft) => {
    switch (metric.kind) {
      case 'start':
        progress.say(`${metric.totalSteps} updates of ${metric.episodes} episodes`);
        if (metric.step > 0) progress.say(`goes on from the checkpoint of update ${metric.step}`);
        progress.begin({ label: 'update', total: metric.totalSteps, value: metric.step, timed: false });
        break;
      case 'step': {
        const { reward, rssBytes, step, tokensPerSecond } = metric;
        progress.update(step, [
          { text: `return ${formatNumber(reward, 3)}` },
          ...(tokensPerSecond === undefined ? [] : [`${formatCompact(tokensPerSecond)} tok/s`]),
          formatBytes(rssBytes),
          ...(secondsLeft === undefined || secondsLeft < 0.5
            ? []
            : [{ text: `${formatDuration(1000 * Math.round(secondsLeft))} left` }]),
        ]);
        break;
      }
      case 'evaluation':
        progress.say(
          `update ${metric.step}  ${measured} ${formatNumber(metric.meanReward, 4)} ± ${formatNumber(metric.margin, 2)} over ${plural(metric.episodes, counted)}${metric.policyReturn === undefined ? '' : `, mean return of policies ${formatNumber(metric.policyReturn, 4)}`}${metric.best ? ', the best so far' : ''}`,
        );
        break;
      case 'baseline':
        progress.say(
          `${metric.label}: best return of a run ${formatNumber(metric.bestReturn, 4)} on average`,
        );
        break;
      case 'alarm':
        progress.alert(`${styleText('yellow', 'alarm')} ${metric.message}\n  remedy: ${metric.remedy}`);
        break;
      default:
    }
  };
  return {
    show: (metric, secondsLeft) => (mode.json === true ? progress.emit(metric) : show(metric, secondsLeft)),
    close: () => progress.close(),
  };
}
