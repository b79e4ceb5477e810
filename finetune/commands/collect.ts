/** `policyloop finetune collect <config>`: many runs of many tasks by many proposers, to be learnt from. */
import { availableParallelism } from 'node:os';
import { styleText } from 'node:util';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../src/command.js';
import type { CommandContext } from '../../src/context.js';
import { UserError } from '../../src/errors.js';
import { assemble, closeEnvironment } from '../../src/experiment/assemble.js';
import { formatDuration, plural } from '../../src/format/numbers.js';
import { shownPath } from '../../src/runs/facts.js';
import { type Collection, loadCollection } from '../../src/studies/collection-config.js';
import { checkCollection, collectionPlan } from '../../src/studies/collection-plan.js';
import { collectionPlace } from '../../src/studies/collection-record.js';
import { requireJobs } from '../../src/studies/plan.js';
import { failureLines, type Played, playPlan } from '../../src/studies/play.js';
import { exitCodeOf } from '../../src/studies/single-run.js';

export const options = (y: Argv) =>
  y
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'Config file of the collection, or the name of a ready one',
    })
    .positional('overrides', {
      type: 'string',
      array: true,
      default: [],
      describe: 'key=value, e.g. runs=100 experiment.iterations=5',
    })
    .option('jobs', {
      ...kinds.number,
      describe: 'Runs that are played at once (default: one a core)',
    })
    .option('quiet', common.quiet)
    .option('json', {
      ...kinds.flag,
      describe: 'A JSON line a run; the last line is the result',
    })
    .example(
      '$0 finetune collect collection.yaml',
      'plays the runs, or those that are missing; with a higher runs= it adds to them',
    );

type Args = Arguments<typeof options>;

export const finishing =
  'finishing the iterations that are being played; the same command goes on (Ctrl-C again stops at once)';

/** The last line of `--json`. */
interface Summary {
  readonly output: string;
  readonly status: 'completed' | 'interrupted' | 'failed';
  /** Asked for. */
  readonly runs: number;
  /** Of them, those that are complete now. */
  readonly complete: number;
  /** Those that this command has brought to their end. */
  readonly played: number;
  /** This command's. */
  readonly evaluations: number;
  readonly seconds: number;
  readonly failures: readonly { readonly run: string; readonly message: string }[];
}

export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireJobs(args);
  const collection = loadCollection(args.config, args.overrides, context.cwd);
  await checkAssemblies(collection, context);
  const shown = { ...args, jobs: args.jobs ?? availableParallelism() };
  const [plan, place] = [collectionPlan(collection), collectionPlace(collection)];
  const played = await playPlan(plan, place, shown, context, () => undefined);
  report(collection, played, args, context);
  return exitCodeOf(played.status);
}

/** Each task, and each proposer, is made once before anything is played: what can't be is found now. */
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
  { output, runs }: Collection,
  played: Played,
  { json }: Args,
  { cwd, print }: CommandContext,
): void {
  const { complete, evaluations, failures, seconds, status } = played;
  const shown = shownPath(output, cwd);
  if (json) {
    const summary: Summary = {
      output: shown,
      status,
      runs,
      complete,
      played: played.played,
      evaluations,
      seconds,
      failures: failures.map(({ entry: { path: run }, message }) => ({ run, message })),
    };
    print(JSON.stringify(summary));
    return;
  }
  const failed = failures.length > 0 ? `, ${failures.length} failed` : '';
  print(
    [
      styleText('bold', `${complete} of ${runs} runs complete${failed}`),
      ...failureLines(played),
      `played      ${plural(played.played, 'run')}, ${plural(evaluations, 'evaluation')} in ${formatDuration(1000 * seconds)}`,
      `runs        ${shown}`,
      status === 'completed'
        ? `learn       policyloop finetune dataset ${shown} --recipe best-of-group --out DIRECTORY`
        : 'go on       with the same command',
    ].join('\n'),
  );
}
