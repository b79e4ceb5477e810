/** Repeats of one experiment: the same config with several seeds. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandContext, exitCodeOf, shownPath } from '../base/context.js';
import type { Config } from '../config/config.js';
import { resolvedYaml } from '../config/load.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { addUsage } from '../experiment/budget/usage.js';
import { fitted } from '../format/width.js';
import { repeatSeeds } from '../random/seeds.js';
import { type LimitName, limitField } from '../runs/calls.js';
import { createGroupDirectory } from '../runs/create.js';
import { readGroup, runFiles } from '../runs/reader.js';
import {
  describeRepeats,
  formatFaults,
  formatUsage,
  type RepeatsSummary,
  type RunResult,
  resultOf,
  summarizeRepeats,
  summaryOf,
} from '../runs/summary.js';
import type { Interval } from '../statistics/bootstrap.js';
import type { Plan, PlayArguments } from './plan.js';
import {
  failureLines,
  isHandedOver,
  type Played,
  type PlayedStatus,
  playPlan,
  reportProgress,
} from './play.js';
import { reportInTime } from './single-run.js';

/**
 * Creates the directory for new repeats.
 * @param notes notes from importing the config, copied to the log of each repeat
 */
export function createGroup(path: string, config: Config, notes: readonly string[] = []): void {
  const seeds = repeatSeeds(config.seed, config.repeats);
  const runs = seeds.map((_, i) => `repeat-${String(i + 1).padStart(String(seeds.length).length, '0')}`);
  const kept = notes.length > 0 && { notes };
  createGroupDirectory(path, resolvedYaml(config), { version: 1, seeds, runs, ...kept });
}

function planOf(path: string, config: Config): Plan {
  const { seeds, runs, notes } = readGroup(path);
  return {
    kind: 'repeats',
    entries: runs.map((name, i) => ({ path: name, config: { ...config, seed: seeds[i]!, repeats: 1 } })),
    notes,
  };
}

/** Executes the incomplete repeats, then prints the combined results. Returns the exit code. */
export async function finishGroup(
  path: string,
  config: Config,
  args: PlayArguments,
  context: CommandContext,
): Promise<number> {
  const plan = planOf(path, config);
  const place = { directory: path, record: (written: unknown) => written as object };
  const runs = plan.entries.map((entry) => join(path, entry.path));
  const played = await playPlan(plan, place, args, context, () => reportInTime(runs, path, context));
  if (isHandedOver(played, args)) return reportProgress(played, path, args, context);
  const range = returnRange(config.environment, config.evaluation);
  const result = groupResult(path, plan, played, range, context.cwd);
  context.print(
    args.json
      ? JSON.stringify(result)
      : fitted(
          [
            describeRepeats(result.repeats, range, context.columns),
            ...failureLines(played),
            ...(played.limit ? [`stopped: ${limitField(played.limit)} was reached`] : []),
            `usage       ${formatUsage(result.usage)}`,
            ...(result.usage.faults ? [`faults      ${formatFaults(result.usage.faults)}`] : []),
            `runs        ${result.run}`,
            `report      ${result.report}`,
          ].join('\n'),
          context.columns,
        ),
  );
  return exitCodeOf(played.status);
}

/** The last line of `--json` for repeats: totals and the best result. */
interface RepeatsResult extends Pick<RunResult, 'best' | 'confirmed' | 'usage' | 'report'> {
  /** Directory that contains the repeats. */
  readonly run: string;
  /** The plan-wide limit that was reached. */
  readonly reason?: { readonly kind: 'limit'; readonly limit: LimitName };
  readonly status: PlayedStatus;
  /** Total number of iterations over all repeats. */
  readonly iterations: number;
  /** Summary of the confirmed means; null if no repeat was confirmed. */
  readonly summary: RepeatsSummary | null;
  readonly repeats: readonly RunResult[];
  /** Absent if there are no failures. */
  readonly failures?: readonly { readonly run: string; readonly message: string }[];
}

function groupResult(
  path: string,
  { entries }: Plan,
  { failures, limit, status }: Played,
  range: Interval,
  cwd: string,
): RepeatsResult {
  const repeats = entries
    .map((entry) => join(path, entry.path))
    .filter((run) => existsSync(join(run, runFiles.manifest)))
    .map((run) => resultOf(summaryOf(run), cwd));
  const byBest = repeats.toSorted((a, b) => (b.best?.return ?? -Infinity) - (a.best?.return ?? -Infinity));
  const byConfirmed = repeats.toSorted(
    (a, b) => (b.confirmed?.mean ?? -Infinity) - (a.confirmed?.mean ?? -Infinity),
  );
  return {
    run: shownPath(path, cwd),
    ...(limit && { reason: { kind: 'limit', limit } }),
    status,
    iterations: repeats.reduce((sum, { iterations }) => sum + iterations, 0),
    best: byBest[0]?.best ?? null,
    confirmed: byConfirmed[0]?.confirmed ?? null,
    usage: addUsage(repeats.map(({ usage }) => usage)),
    summary: summarizeRepeats(repeats, range) ?? null,
    repeats,
    ...(failures.length > 0 && {
      failures: failures.map(({ entry, message }) => ({ run: entry.path, message })),
    }),
    report: shownPath(join(path, runFiles.report), cwd),
  };
}
