/** Executes or resumes the runs of a collection. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { z } from 'zod';
import { type CommandContext, exitCodeOf, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { slurmSchema } from '../../config/many-runs.js';
import { assemble, closeEnvironment } from '../../experiment/assemble.js';
import { formatDuration, plural } from '../../format/numbers.js';
import { collectionFile } from '../../runs/reader.js';
import { isMapping } from '../../settings/schema.js';
import { type PlanPlace, type PlayArguments, requireJobs } from '../plan.js';
import {
  failureLines,
  isHandedOver,
  type Played,
  type PlayedStatus,
  playPlan,
  reportProgress,
} from '../play.js';
import { onSlurm, taskWords } from '../slurm.js';
import { type Collection, loadCollection } from './collection-config.js';
import { checkCollection, collectionPlan, drawsOf } from './collection-plan.js';

/** The last line that `--json` prints. */
export interface CollectionSummary {
  readonly output: string;
  readonly status: PlayedStatus;
  /** Number of runs in the config. */
  readonly runs: number;
  /** Number of runs that are now complete. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  /** Number of evaluations that this command made. */
  readonly evaluations: number;
  /** Number of drawn tasks that `accept` rejected for this command's runs. */
  readonly rejected: number;
  readonly seconds: number;
  readonly failures: readonly { readonly run: string; readonly message: string }[];
}

interface CollectArguments extends PlayArguments {
  readonly slurm?: boolean | undefined;
  readonly config: string;
  readonly overrides: readonly string[];
}

/** Executes the remaining runs of a collection, `jobs` at once (default: one per core). Returns the exit code. */
export async function collect(args: CollectArguments, context: CommandContext): Promise<number> {
  requireJobs(args);
  const collection = loadCollection(args.config, args.overrides, context.cwd);
  await checkAssemblies(collection, context);
  const elsewhere =
    args.slurm === true
      ? onSlurm(collection.slurm ?? slurmSchema.parse({}), taskWords(context), context)
      : undefined;
  const shown = { ...args, elsewhere, jobs: args.jobs ?? availableParallelism() };
  const [plan, place] = [collectionPlan(collection), collectionPlace(collection)];
  const played = await playPlan(plan, place, shown, context, () => undefined);
  if (isHandedOver(played, args)) return reportProgress(played, collection.output, args, context);
  report(collection, played, args, context);
  return exitCodeOf(played.status);
}

/** Assembles each task and each proposer at least once before any run starts, so that errors surface early. */
async function checkAssemblies(collection: Collection, context: CommandContext): Promise<void> {
  const seen = new Set<string>();
  for (const { task, proposer, config } of checkCollection(collection)) {
    const names = [`task ${task}`, `proposer ${proposer}`];
    if (names.every((name) => seen.has(name))) continue;
    for (const name of names) seen.add(name);
    try {
      await closeEnvironment(await assemble(config, context.env));
    } catch (error) {
      throw error instanceof UserError ? collection.locate(error, task, proposer) : error;
    }
  }
}

function report(
  collection: Collection,
  played: Played,
  { json }: CollectArguments,
  { cwd, print }: CommandContext,
): void {
  const { output, runs } = collection;
  const draws = drawsOf(collection);
  const { complete, evaluations, failures, seconds, status } = played;
  const shown = shownPath(output, cwd);
  if (json) {
    const summary: CollectionSummary = {
      output: shown,
      status,
      runs,
      complete,
      played: played.played,
      evaluations,
      rejected: draws.rejected,
      seconds,
      failures: failures.map(({ entry: { path: run }, message }) => ({ run, message })),
    };
    print(JSON.stringify(summary));
    return;
  }
  const failed = failures.length > 0 ? `, ${failures.length} failed` : '';
  print(
    [
      styleText('bold', `${complete} of ${plural(runs, 'run')} complete${failed}`),
      ...failureLines(played),
      `completed   ${plural(played.played, 'run')}, ${plural(evaluations, 'evaluation')} in ${formatDuration(1000 * seconds)}`,
      ...(draws.accepted > 0
        ? [`tasks       ${draws.accepted} accepted, ${plural(draws.rejected, 'draw')} rejected`]
        : []),
      `runs        ${shown}`,
      status === 'completed'
        ? `learn       policyloop finetune dataset ${shown} --recipe best-of-group --out DIRECTORY`
        : 'resume      with the same command',
    ].join('\n'),
  );
}

const recordShape = z.looseObject({
  version: z.literal(1),
  kind: z.literal('collection'),
  runs: z.number(),
  settings: z.record(z.string(), z.unknown()),
});

/** The directory of a collection. `record` throws a UserError if existing runs have different settings. */
export function collectionPlace(collection: Collection): PlanPlace {
  const { output, runs, seed, experiment, tasks, proposers } = collection;
  // The settings that define the runs; the round trip through JSON removes undefined values.
  const settings: unknown = JSON.parse(JSON.stringify({ seed, experiment, tasks, proposers }));
  const record = (written: unknown) => {
    const before = written === undefined ? undefined : recordOf(written, output);
    if (before !== undefined) requireSame(before.settings, settings, output);
    return { version: 1, kind: 'collection', runs: Math.max(runs, before?.runs ?? 0), settings };
  };
  return { directory: output, record, field: 'output' };
}

function recordOf(written: unknown, output: string) {
  const { success, data } = recordShape.safeParse(written);
  if (success) return data;
  throw new UserError({
    file: join(output, collectionFile),
    message: "this file isn't the record of a collection",
    remedy: 'restore it from a backup, or choose another output',
  });
}

function requireSame(before: unknown, now: unknown, output: string): void {
  const [was, is] = [leaves(before), leaves(now)];
  const changed = [...new Set([...was.keys(), ...is.keys()])].filter((key) => was.get(key) !== is.get(key));
  if (changed.length === 0) return;
  const shown = changed
    .slice(0, 4)
    .map((key) => `${key}: ${was.get(key) ?? 'nothing'} → ${is.get(key) ?? 'nothing'}`);
  throw new UserError({
    file: join(output, collectionFile),
    message: `the existing runs were created with different settings: ${shown.join('; ')}${changed.length > 4 ? `; and ${changed.length - 4} more` : ''}`,
    remedy: 'restore these settings, or choose another output',
  });
}

/** The leaves of a nested structure as JSON, by dotted path. */
function leaves(value: unknown, path = ''): ReadonlyMap<string, string> {
  if ((!isMapping(value) && !Array.isArray(value)) || Object.keys(value).length === 0) {
    return new Map([[path, JSON.stringify(value)]]);
  }
  return new Map(
    Object.entries(value).flatMap(([key, item]) => [...leaves(item, path === '' ? key : `${path}.${key}`)]),
  );
}
