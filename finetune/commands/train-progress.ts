/** Shows a training as it goes: a bar on a terminal, lines elsewhere, an object an event for machines. */
import { styleText } from 'node:util';
import { MultiBar } from 'cli-progress';
import type { CommandContext } from '../../src/context.js';
import { formatCount, formatDuration } from '../../src/format/console.js';
import type { Metric, MetricOf } from '../train/metrics.js';
import { createPace, type Pace } from '../train/pace.js';

export interface TrainingDisplay {
  show(metric: Metric): void;
  /** Leaves the terminal as it was. */
  close(): void;
}

/** When there will be validations and checkpoints: the time left depends on it. */
export interface Intervals {
  readonly evaluateEvery: number;
  readonly checkpointEvery: number;
}

export function createTrainingDisplay(
  mode: 'auto' | 'json' | 'quiet',
  intervals: Intervals,
  context: Pick<CommandContext, 'print' | 'note' | 'terminal'>,
): TrainingDisplay {
  const close = () => undefined;
  switch (mode) {
    case 'quiet':
      return { show: alarmsOnly(context.note), close };
    case 'json':
      return { show: (metric) => context.print(JSON.stringify(metric)), close };
    case 'auto':
      return context.terminal === undefined
        ? { show: plainLines(intervals, context.note), close }
        : progressBar(intervals, context.terminal);
  }
}

/** Least time between two lines about steps. */
const secondsALine = 10;

function plainLines(intervals: Intervals, note: (text: string) => void): TrainingDisplay['show'] {
  const pace = createPace(intervals);
  const tell = happenings(note);
  let sinceLine = Number.POSITIVE_INFINITY;
  return (metric) => {
    pace.take(metric);
    tell(metric);
    sinceLine += metric.seconds;
    if (metric.kind !== 'step') return;
    const { step, totalSteps } = metric;
    if (sinceLine < secondsALine && step < totalSteps) return;
    note([`step ${step}/${totalSteps}`, ...figures(metric, pace)].join('  '));
    sinceLine = 0;
  };
}

function progressBar(intervals: Intervals, terminal: NodeJS.WriteStream): TrainingDisplay {
  const pace = createPace(intervals);
  const bars = new MultiBar({
    format: '{bar} step {value}/{total}  {figures}',
    stream: terminal,
    barsize: 12,
    hideCursor: true,
    clearOnComplete: true,
    barCompleteChar: '━',
    barIncompleteChar: '·',
    fps: 10,
    gracefulExit: false,
  });
  let bar: ReturnType<MultiBar['create']> | undefined;
  const tell = happenings((text) =>
    bar === undefined ? terminal.write(`${text}\n`) : bars.log(`${text}\n`),
  );
  let validated = false;
  return {
    show(metric) {
      pace.take(metric);
      tell(metric);
      if (metric.kind === 'start') {
        bar = bars.create(metric.totalSteps, metric.step, { figures: 'the first step takes longer' });
        validated = metric.validation.examples > 0;
      }
      if (metric.kind === 'step') {
        const { step, totalSteps } = metric;
        const validating = validated && (step % intervals.evaluateEvery === 0 || step === totalSteps);
        bar?.update(step, { figures: figures(metric, pace, validating).join('  ') });
      }
    },
    close() {
      // What was logged since the last redraw.
      if (bar !== undefined) bars.update();
      bars.stop();
    },
  };
}

/** @param validating instead of the speed, so that a line of 80 columns has room for all */
function figures({ rssBytes }: Metric, pace: Pace, validating = false): readonly string[] {
  const { loss, tokensPerSecond, secondsLeft } = pace;
  const speed = tokensPerSecond === undefined ? [] : [`${formatCount(tokensPerSecond)} tok/s`];
  return [
    ...(loss === undefined ? [] : [`loss ${loss.toFixed(3)}`]),
    ...(validating ? ['validating'] : speed),
    `${(rssBytes / 2 ** 30).toFixed(1)} GiB`,
    ...(secondsLeft === undefined ? [] : [`${wholeDuration(1000 * secondsLeft)} left`]),
  ];
}

/** Without the digits that would flicker. */
const wholeDuration = (ms: number) =>
  ms < 60_000 ? `${Math.round(ms / 1000)} s` : formatDuration(Math.round(ms / 1000) * 1000);

function alarmsOnly(note: (text: string) => void): TrainingDisplay['show'] {
  const tell = happenings(note);
  return (metric) => {
    if (metric.kind === 'alarm') tell(metric);
  };
}

/** Tells what a reader wants to find in the scroll-back: where training starts, and each validation. */
function happenings(tell: (text: string) => void): (metric: Metric) => void {
  let lowest: MetricOf<'start'>['best'];
  return (metric) => {
    switch (metric.kind) {
      case 'start':
        lowest = metric.best;
        tell(startText(metric));
        if (metric.step > 0) tell(`goes on from the checkpoint of step ${metric.step}`);
        break;
      case 'validation': {
        if (metric.best) lowest = metric;
        const place =
          metric.best || lowest === undefined
            ? 'the lowest so far'
            : `lowest ${lowest.loss.toFixed(4)} at step ${lowest.step}`;
        tell(`step ${metric.step}  validation loss ${metric.loss.toFixed(4)}, ${place}`);
        break;
      }
      case 'alarm':
        tell(`${styleText('yellow', 'alarm')} ${metric.message}\n  remedy: ${metric.remedy}`);
        break;
      default:
    }
  };
}

function startText({ totalSteps, training, validation }: MetricOf<'start'>): string {
  const split = ({ examples, tokens }: MetricOf<'start'>['training']) =>
    `${examples} ${examples === 1 ? 'example' : 'examples'} (${formatCount(tokens)} tokens)`;
  const heldOut = validation.examples === 0 ? 'nothing held out' : `${split(validation)} held out`;
  return `${totalSteps} steps over ${split(training)}, ${heldOut}`;
}
