/** Shows a collection as it grows: a bar on a terminal, a line now and then elsewhere, an object a run for machines. */
import { SingleBar } from 'cli-progress';
import type { CommandContext } from '../context.js';
import { formatCompact, formatDuration } from '../format/numbers.js';

export interface CollectionDisplay {
  evaluated(evaluations: number): void;
  /** A run has ended. */
  end(run: string, failure: string | undefined): void;
  close(): void;
}

interface Shown {
  /** Runs in all. */
  readonly total: number;
  /** Of them, those that were complete before. */
  readonly done: number;
}

const linesInAll = 20;

export function createCollectionDisplay(
  mode: 'auto' | 'json' | 'quiet',
  { total, done }: Shown,
  context: Pick<CommandContext, 'print' | 'note' | 'terminal' | 'milliseconds'>,
): CollectionDisplay {
  const nothing = () => undefined;
  const failed = (run: string, failure: string) => context.note(`${run}: ${failure}`);
  if (mode === 'json') {
    return {
      evaluated: nothing,
      end: (run, failure) =>
        context.print(
          JSON.stringify({
            kind: 'run',
            run,
            status: failure === undefined ? 'completed' : 'failed',
            ...(failure !== undefined && { error: failure }),
          }),
        ),
      close: nothing,
    };
  }
  if (mode === 'quiet') {
    return {
      evaluated: nothing,
      end: (run, failure) => failure !== undefined && failed(run, failure),
      close: nothing,
    };
  }
  const started = context.milliseconds();
  let evaluations = 0;
  let ended = 0;
  const rate = () => formatCompact((1000 * evaluations) / Math.max(1, context.milliseconds() - started));
  if (context.terminal === undefined) {
    const every = Math.max(1, Math.floor(total / linesInAll));
    return {
      evaluated: (more) => {
        evaluations += more;
      },
      end(run, failure) {
        ended++;
        if (failure !== undefined) failed(run, failure);
        const reached = done + ended;
        if (reached % every !== 0 && reached !== total) return;
        const left = ((context.milliseconds() - started) / ended) * (total - reached);
        context.note(`run ${reached}/${total}  ${rate()} evaluations/s  ${formatDuration(left)} left`);
      },
      close: nothing,
    };
  }
  const bar = new SingleBar({
    format: '{bar} run {value}/{total}  {rate} evaluations/s  {duration_formatted}, {eta_formatted} left',
    stream: context.terminal,
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    barCompleteChar: '━',
    barIncompleteChar: '·',
    fps: 10,
    etaBuffer: 100,
    gracefulExit: false,
  });
  bar.start(total, done, { rate: '–' });
  return {
    evaluated(more) {
      evaluations += more;
      bar.update({ rate: rate() });
    },
    end(run, failure) {
      ended++;
      if (failure !== undefined) failed(run, failure);
      bar.update(done + ended, { rate: rate() });
    },
    close: () => bar.stop(),
  };
}
