import { styleText } from 'node:util';
import type { CommandContext } from '../../src/base/context.js';
import { formatBytes, formatCompact, formatDuration, plural } from '../../src/format/numbers.js';
import { createProgress, type Progress, type ProgressMode } from '../../src/format/progress.js';
import type { Figure } from '../../src/format/progress-line.js';
import type { StepLoss } from '../engine/checkpoint.js';
import type { Metric, MetricOf } from './metrics.js';
import { type Intervals, Pace } from './pace.js';
import { formatLoss } from './training-charts.js';

export interface TrainingDisplay {
  show(metric: Metric): void;
  /** Restores the terminal. */
  close(): void;
}

/**
 * Shows the progress of a training run. Its start, validations and alarms stay in the scroll-back.
 * @param recorded returns the metrics of earlier sessions; called at the start
 */
export function createTrainingDisplay(
  mode: ProgressMode,
  intervals: Intervals,
  context: Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>,
  recorded: () => readonly Metric[] = () => [],
): TrainingDisplay {
  const progress = createProgress(mode, context);
  const pace = new Pace(intervals);
  let start: MetricOf<'start'> | undefined;
  let lowest: StepLoss | undefined;
  const show = (metric: Metric) => {
    if (metric.kind === 'start') pace.goOnAfter(recorded());
    pace.take(metric);
    switch (metric.kind) {
      case 'start':
        start = metric;
        lowest = metric.best;
        begin(progress, metric);
        break;
      case 'step': {
        const { step, totalSteps } = metric;
        const validates = start !== undefined && start.validation.examples > 0;
        const validating = validates && (step % intervals.evaluateEvery === 0 || step === totalSteps);
        progress.update(step, figures(metric, pace, validating));
        break;
      }
      case 'validation':
        if (metric.best) lowest = metric;
        progress.say(validationText(metric, lowest));
        break;
      case 'alarm':
        progress.alert(`${styleText('yellow', 'alarm')} ${metric.message}\n  remedy: ${metric.remedy}`);
        break;
      default:
    }
  };
  return {
    show: (metric) => (mode.json === true ? progress.emit(metric) : show(metric)),
    close: () => progress.close(),
  };
}

function begin(progress: Progress, { step, totalSteps, training, validation }: MetricOf<'start'>): void {
  const split = ({ examples, tokens }: MetricOf<'start'>['training']) =>
    `${plural(examples, 'example')} (${formatCompact(tokens)} tokens)`;
  const heldOut = validation.examples === 0 ? 'nothing held out' : `${split(validation)} held out`;
  progress.say(`${totalSteps} steps over ${split(training)}, ${heldOut}`);
  if (step > 0) progress.say(`goes on from the checkpoint of step ${step}`);
  progress.begin({ label: 'step', total: totalSteps, value: step, timed: false });
}

/** @param validating shows "validating" instead of the speed, so the line fits into 80 columns */
function figures({ rssBytes }: Metric, pace: Pace, validating: boolean): readonly Figure[] {
  const { loss, tokensPerSecond, secondsLeft } = pace;
  const speed = tokensPerSecond === undefined ? [] : [`${formatCompact(tokensPerSecond)} tok/s`];
  return [
    ...(loss === undefined ? [] : [{ text: `loss ${formatLoss(loss)}` }]),
    ...(validating ? ['validating'] : speed),
    formatBytes(rssBytes),
    ...(secondsLeft === undefined || secondsLeft < 0.5
      ? []
      : [{ text: `${formatDuration(1000 * Math.round(secondsLeft))} left` }]),
  ];
}

function validationText({ step, loss, best }: MetricOf<'validation'>, lowest: StepLoss | undefined) {
  const place =
    best || lowest === undefined
      ? 'the lowest so far'
      : `lowest ${formatLoss(lowest.loss)} at step ${lowest.step}`;
  return `step ${step}  validation loss ${formatLoss(loss)}, ${place}`;
}
