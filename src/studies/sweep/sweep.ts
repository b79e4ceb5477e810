/** Executes a sweep: as one plan or, with halving, round by round. */

import { join, resolve } from 'node:path';
import { append } from '../../base/append.js';
import { type CommandContext, exitCodeOf, shownPath } from '../../base/context.js';
import { openPage } from '../../base/open-page.js';
import { loadSlurm } from '../../config/load.js';
import { formatDuration, plural } from '../../format/numbers.js';
import { fitted } from '../../format/width.js';
import { limitField } from '../../runs/calls.js';
import { runFiles } from '../../runs/reader.js';
import { formatUsage } from '../../runs/summary.js';
import { replaceFile } from '../../storage/files.js';
import { page } from '../../web/page.js';
import { inFile } from '../../web/study.js';
import { checkConfig, type PlayArguments, resultFiles } from '../plan.js';
import {
  failureLines,
  isHandedOver,
  type Played,
  type PlayedStatus,
  playPlan,
  reportProgress,
} from '../play.js';
import { onSlurm, taskWords } from '../slurm.js';
import { type Dropped, dropsAfter, roundsOf } from './halving.js';
import { sweepDryRun } from './sweep-forecast.js';
import { sweepPage } from './sweep-page.js';
import {
  loadPlannedSweep,
  readJudged,
  removeJudged,
  runsOf,
  type Sweep,
  type SweepRun,
  type SweepSetting,
  sweepPlace,
  sweepPlan,
  writeJudged,
} from './sweep-plan.js';
import { type ReadRuns, rangeOf, type SweepResult, sweepReader, sweepResult } from './sweep-result.js';
import { sweepOnTerminal } from './sweep-tables.js';

interface SweepArguments extends PlayArguments {
  readonly config: string;
  readonly overrides: readonly string[];
  readonly out?: string | undefined;
  readonly runsDir: string;
  readonly dryRun: boolean;
  readonly slurm?: boolean | undefined;
  readonly open?: boolean | undefined;
}

/**
 * Executes the remaining runs of a sweep and prints the effects of its keys. Returns the exit code.
 * @throws UserError if a setting can't run; no run has started by then
 */
export async function playSweep(args: SweepArguments, context: CommandContext): Promise<number> {
  const sweep = loadPlannedSweep(args.config, args.overrides, context.cwd);
  for (const note of sweep.notes) context.note(note);
  if (args.dryRun) return sweepDryRun(sweep, args, context);
  for (const { name, config } of sweep.settings) await checkConfig(config, context.env, `setting ${name}`);
  const elsewhere =
    args.slurm === true
      ? onSlurm(
          loadSlurm({ ...args, file: args.config, cwd: context.cwd }),
          taskWords(context, '--out'),
          context,
        )
      : undefined;
  const { played, result, directory } = await playRounds(sweep, { ...args, elsewhere }, context);
  if (isHandedOver(played, args)) return reportProgress(played, directory, args, context);
  report(result!, played, directory, args, context);
  if (args.open === true) await openPage(join(directory, runFiles.report), context);
  return exitCodeOf(played.status);
}

interface Round {
  readonly settings: readonly SweepSetting[];
  /** Number of seeds per setting before this round; `to`: number after it. */
  readonly from: number;
  readonly to: number;
}

async function playRounds(sweep: Sweep, args: SweepArguments, context: CommandContext) {
  let { jobs } = args;
  const place = sweepPlace(sweep, { cwd: context.cwd, out: args.out, runsDir: args.runsDir });
  const { directory } = place;
  const read = sweepReader(directory);
  const drops = new Map<string, { readonly after: number; readonly because: Dropped }>();
  const isShared = args.part !== undefined || args.elsewhere !== undefined;
  const judged = isShared ? readJudged(directory, sweep) : { rounds: 0, failures: [] };
  const failures: Played<SweepRun>['failures'][number][] = [];
  let complete = 0;
  const before: SweepRun[] = [];
  const rounds =
    sweep.how.method === 'halving' ? roundsOf(sweep.how, sweep.seeds.length) : [sweep.seeds.length];
  let left: readonly SweepSetting[] = sweep.settings;
  let from = 0;
  for (const [i, to] of rounds.entries()) {
    const isLast = i === rounds.length - 1;
    const round: Round = { settings: left, from, to };
    const entries = runsOf(sweep, left, from, to);
    if (i < judged.rounds) {
      const messages = new Map(judged.failures.map(({ run, message }) => [run, message]));
      append(
        failures,
        entries.flatMap((entry) => {
          const message = messages.get(entry.path);
          return message === undefined ? [] : [{ entry, message }];
        }),
      );
      complete += entries.filter(({ path }) => isRead(sweep, path, read)).length;
      append(before, entries);
      left = survivors(sweep, left, to, read, drops);
      from = to;
      continue;
    }
    const plan = sweepPlan(sweep, entries, shapeOf(round, i, rounds.length), before);
    const played = await playPlan(plan, place, { ...args, jobs }, context, (failed) => {
      const isWhole = isLast && entries.every(({ path }) => isRead(sweep, path, read));
      const facts = {
        ...{ drops, isWhole, read, now: context.now() },
        failures: [...failures, ...failed].map(told),
      };
      return write(sweepResult(sweep, facts), directory);
    });
    jobs = played.jobs;
    append(failures, played.failures);
    complete += played.complete;
    // A part doesn't know the failures of other parts.
    const failed = new Set(args.part === undefined ? failures.map(({ entry }) => entry.arm) : []);
    const isRoundOver = entries.every(({ arm, path }) => failed.has(arm) || isRead(sweep, path, read));
    const isStopped = played.status === 'interrupted' || played.status === 'elsewhere';
    const goesOn = !isLast && isRoundOver && !isStopped && played.limit === undefined;
    append(before, entries);
    if (goesOn) left = survivors(sweep, left, to, read, drops);
    if (!goesOn || left.length === 0) {
      const isReported = args.elsewhere !== undefined && !isStopped;
      if (isReported) removeJudged(directory);
      return { played: withAll(played, complete, failures), result: played.result, directory };
    }
    if (args.elsewhere !== undefined && failures.length > 0)
      writeJudged(directory, sweep, { rounds: i + 1, failures: failures.map(told) });
    from = to;
  }
  throw new Error('a sweep has a last round');
}

const told = ({ entry, message }: Played<SweepRun>['failures'][number]) => ({ run: entry.path, message });

/** Adds the complete and failed runs of earlier rounds. */
const withAll = (
  played: Played<SweepRun>,
  complete: number,
  failures: Played<SweepRun>['failures'],
): Played<SweepRun> => ({
  ...played,
  status: played.status === 'completed' && failures.length > 0 ? 'failed' : played.status,
  complete,
  failures,
});

function shapeOf({ settings, from, to }: Round, index: number, rounds: number): string {
  const round = rounds === 1 ? '' : `, round ${index + 1} of ${rounds}`;
  return `${plural(settings.length, 'setting')} × ${plural(to - from, 'seed')}${round}`;
}

function isRead({ settings, seeds }: Sweep, path: string, read: ReadRuns): boolean {
  const [name, last] = path.split('/') as [string, string];
  const setting = settings.find((one) => one.name === name)!;
  const seed = seeds.find((one) => last === `seed-${one}`)!;
  return read(setting, seed)?.isDone === true;
}

/** The settings that continue after a round; records in `drops` why other settings don't. */
function survivors(
  sweep: Sweep,
  settings: readonly SweepSetting[],
  after: number,
  read: ReadRuns,
  drops: Map<string, { readonly after: number; readonly because: Dropped }>,
): readonly SweepSetting[] {
  if (sweep.how.method !== 'halving') return settings;
  const contenders = settings.map((setting) => ({
    name: setting.name,
    confirmed: sweep.seeds.slice(0, after).map((seed) => read(setting, seed)?.confirmed ?? null),
  }));
  const dropped = dropsAfter(contenders, sweep.how, sweep.seeds.length, rangeOf(settings));
  for (const [name, because] of dropped) drops.set(name, { after, because });
  return settings.filter(({ name }) => !dropped.has(name));
}

function write(result: SweepResult, directory: string): SweepResult {
  replaceFile(join(directory, resultFiles.sweep), `${JSON.stringify(result, null, 2)}\n`);
  replaceFile(join(directory, runFiles.report), page(sweepPage(result, inFile)));
  return result;
}

/** The last line that `--json` prints. */
export interface SweepSummary extends Omit<SweepResult, 'status'> {
  /** Status of this command. */
  readonly status: PlayedStatus;
  /** Status of the whole sweep. */
  readonly result: SweepResult['status'];
  /** Directory of the sweep. */
  readonly out: string;
}

function report(
  result: SweepResult,
  played: Played,
  directory: string,
  { json }: SweepArguments,
  context: CommandContext,
): void {
  const out = shownPath(directory, context.cwd);
  if (json) {
    const { status, ...rest } = result;
    const summary: SweepSummary = { ...rest, status: played.status, result: status, out };
    context.print(JSON.stringify(summary));
    return;
  }
  const lines = [
    sweepOnTerminal(result, context.columns),
    '',
    ...failureLines(played),
    ...(played.limit ? [`stopped: ${limitField(played.limit)} was reached`] : []),
    `runs        ${plural(played.complete, 'run')} complete, total time ${formatDuration(result.activeMs)}: ${out}`,
    ...(result.usage.promptTokens > 0 ? [`usage       ${formatUsage(result.usage)}`] : []),
    `page        ${shownPath(resolve(directory, runFiles.report), context.cwd)}`,
    ...(played.limit
      ? ['resume      with the same command and a higher limit']
      : played.status === 'completed'
        ? []
        : ['resume      with the same command']),
  ];
  context.print(fitted(lines.join('\n'), context.columns));
}
