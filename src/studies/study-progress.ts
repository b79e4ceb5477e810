/** Shows many runs as they go: one bar on a terminal, a line a run elsewhere, an object a run for machines. */
import { SingleBar } from 'cli-progress';
import type { CommandContext } from '../context.js';
import { formatReturn } from '../format/numbers.js';
import type { RunEvent } from '../runs/events.js';
import type { RunResult } from '../runs/facts.js';
import type { PlannedRun } from './study.js';

export interface StudyDisplay {
  /** A run begins, or goes on. */
  begin(run: PlannedRun): void;
  event(event: RunEvent): void;
  /** A run has ended, or was complete already. */
  end(run: PlannedRun, result: RunResult): void;
  fail(run: PlannedRun, message: string): void;
  close(): void;
}

/** @param mode `others`: what goes on when a run fails */
export function createStudyDisplay(
  runs: readonly PlannedRun[],
  mode: { readonly json: boolean; readonly quiet: boolean; readonly others: string },
  context: Pick<CommandContext, 'print' | 'note' | 'terminal'>,
): StudyDisplay {
  const nothing = () => undefined;
  const failed = (run: PlannedRun, message: string) =>
    context.note(`${run.path}: ${message}; ${mode.others} go on`);
  if (mode.json) {
    return {
      begin: nothing,
      event: nothing,
      end: ({ experiment, arm, repeat, config }, result) =>
        context.print(JSON.stringify({ kind: 'run', experiment, arm, repeat, seed: config.seed, ...result })),
      fail: failed,
      close: nothing,
    };
  }
  if (mode.quiet) return { begin: nothing, event: nothing, end: nothing, fail: failed, close: nothing };
  return context.terminal === undefined
    ? plainLines(runs, failed, context.note)
    : bar(runs, failed, context.terminal);
}

function plainLines(
  runs: readonly PlannedRun[],
  fail: StudyDisplay['fail'],
  note: (text: string) => void,
): StudyDisplay {
  return {
    begin: () => undefined,
    event: () => undefined,
    end(run, { confirmed, iterations }) {
      const score = confirmed === null ? 'not confirmed' : `confirmed ${formatReturn(confirmed.mean)}`;
      note(`run ${runs.indexOf(run) + 1}/${runs.length}  ${run.path}  ${iterations} iterations, ${score}`);
    },
    fail,
    close: () => undefined,
  };
}

/** The unit is an iteration of a run, so that the time left is even. */
function bar(
  runs: readonly PlannedRun[],
  fail: StudyDisplay['fail'],
  stream: NodeJS.WriteStream,
): StudyDisplay {
  const shown = new SingleBar({
    format:
      '{bar} run {run}/{runs}  {path}  now {now}  best {best}  {duration_formatted}, {eta_formatted} left',
    stream,
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    barCompleteChar: '━',
    barIncompleteChar: '·',
    fps: 10,
    etaBuffer: 40,
    gracefulExit: false,
  });
  const before = new Map<PlannedRun, number>();
  let total = 0;
  for (const run of runs) {
    before.set(run, total);
    total += run.config.iterations;
  }
  const payload = { run: 0, runs: runs.length, path: '', now: '–', best: '–' };
  shown.start(total, 0, payload);
  let start = 0;
  return {
    begin(run) {
      start = before.get(run)!;
      shown.update(start, { ...payload, run: runs.indexOf(run) + 1, path: run.path });
    },
    event(event) {
      if (event.kind !== 'iteration-finished') return;
      shown.update(start + event.iteration, {
        now: event.score === undefined ? 'rejected' : formatReturn(event.score),
        best: event.best === undefined ? '–' : formatReturn(event.best),
      });
    },
    end: (run) => shown.update(before.get(run)! + run.config.iterations),
    fail,
    close: () => shown.stop(),
  };
}
