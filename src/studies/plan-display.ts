/** Shows the progress of a plan's runs: a bar on a terminal, plain lines elsewhere, or JSON with `--json`. */
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { distinctFormat, formatReturn, plural } from '../base/text/numbers.js';
import { createProgress } from '../base/text/progress.js';
import type { RunEvent } from '../runs/events.js';
import { resultOf, summaryOf } from '../runs/summary.js';
import type { Plan, PlanEntry, RunEnd, ScheduleArguments } from './plan.js';
import { showTrouble } from './run-progress.js';

/** Creates a display of the overall progress of all runs, plus a line per run. */
export function createPlanDisplay(
  { entries }: Plan,
  directory: string,
  mode: Pick<ScheduleArguments, 'json' | 'quiet'>,
  context: CommandContext,
) {
  const progress = createProgress(mode, context);
  /** Completed and planned iterations of each run in progress. */
  const runProgress = new Map<PlanEntry, { total: number; done: number }>();
  const notedKeys = new Set<string>();
  let doneCount = 0;
  progress.begin({
    label: 'runs',
    total: entries.length,
    value: 0,
    formatAmount: (value) => `${Math.floor(value)}`,
  });

  /** Counts unfinished runs as fractions (confirmation is one more iteration), to keep the time estimate steady. */
  const update = (figures: readonly string[]) => {
    let value = doneCount;
    for (const { done, total } of runProgress.values()) value += done / (total + 1);
    progress.update(value, figures);
  };
  /** Shows only the first of several notes with the same key, because many runs may have the same one. */
  const note = (text: string, key = text) => {
    if (!notedKeys.has(key)) progress.alert(text);
    notedKeys.add(key);
  };
  const showRun = ({ arm, config, path }: PlanEntry) => {
    const result = resultOf(summaryOf(join(directory, path)), context.cwd);
    progress.emit({ kind: 'run', arm, seed: config.seed, ...result });
    const { confirmed, iterations } = result;
    const score = confirmed === null ? 'not confirmed' : `confirmed ${formatReturn(confirmed.mean)}`;
    progress.say(`run ${doneCount}/${entries.length}  ${path}  ${plural(iterations, 'iteration')}, ${score}`);
  };

  return {
    note,
    close: () => progress.close(),
    /** Called before each run that isn't skipped. */
    begin: (entry: PlanEntry) => runProgress.set(entry, { total: 1, done: 0 }),
    event(entry: PlanEntry, event: RunEvent) {
      const { path } = entry;
      const run = runProgress.get(entry)!;
      switch (event.kind) {
        case 'run-started':
          run.total = event.iterations;
          break;
        case 'iteration-finished': {
          run.done = event.iteration;
          const asText = distinctFormat([event.score, event.best]);
          const returnText = (value: number | undefined) => (value === undefined ? '–' : asText(value));
          update([path, `return ${returnText(event.score)}`, `best ${returnText(event.best)}`]);
          break;
        }
        default: {
          const alert = (text: string, key?: string) => note(`${path}: ${text}`, key);
          showTrouble({ alert, pause: (text, ms) => progress.pause(`${path}  ${text}`, ms) }, event);
        }
      }
    },
    end(entry: PlanEntry, { kind, message }: RunEnd) {
      runProgress.delete(entry);
      doneCount++;
      if (kind === 'failed') note(`${entry.path}: ${message}; the other runs of ${entry.arm} are skipped`);
      else showRun(entry);
      // The output of the last run already shows that all runs have ended.
      if (doneCount < entries.length) update([entry.path]);
    },
  };
}
