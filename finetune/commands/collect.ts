/** `policyloop finetune collect <config>`: many runs of many tasks by many proposers, to be learnt from. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../src/command.js';
import { type CommandContext, exitCodes, requireCount } from '../../src/context.js';
import { UserError } from '../../src/errors.js';
import { assemble, closeEnvironment } from '../../src/experiment/assemble.js';
import { formatCompact, formatDuration } from '../../src/format/numbers.js';
import { shownPath } from '../../src/runs/facts.js';
import { type Collection, loadCollection } from '../../src/studies/collection-config.js';
import { checkCollection, configOfRun, drawRun } from '../../src/studies/collection-plan.js';
import { createCollectionDisplay } from '../../src/studies/collection-progress.js';
import { isComplete, openCollection } from '../../src/studies/collection-record.js';
import { type CollectedJob, playInThreads } from '../../src/studies/collection-workers.js';

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
  'finishing the runs that are being played; the same command goes on (Ctrl-C again stops at once)';

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
  if (args.jobs !== undefined) requireCount('--jobs', args.jobs, 1);
  const collection = loadCollection(args.config, args.overrides, context.cwd);
  await checkAssemblies(collection, context);
  const release = openCollection(collection);
  try {
    const summary = await collect(collection, args, context);
    report(summary, args, context);
    if (summary.status === 'failed') return exitCodes.failure;
    return summary.status === 'completed' ? 0 : exitCodes.interrupted;
  } finally {
    release();
  }
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

interface Job extends CollectedJob {
  readonly name: string;
}

async function collect(
  collection: Collection,
  { jobs, json, quiet }: Args,
  context: CommandContext,
): Promise<Summary> {
  const { output, runs } = collection;
  const draws = Array.from({ length: runs }, (_, index) => drawRun(collection, index));
  const open = draws.filter(({ name }) => !isComplete(join(output, name)));
  const shown = shownPath(output, context.cwd);
  const threads = Math.max(1, Math.min(jobs ?? availableParallelism(), open.length));
  if (!json && !quiet) {
    context.note(`${runs} runs in ${shown}, ${runs - open.length} of them complete; ${threads} at once`);
  }
  const display = createCollectionDisplay(
    json ? 'json' : quiet ? 'quiet' : 'auto',
    { total: runs, done: runs - open.length },
    context,
  );
  const started = context.milliseconds();
  const failures: { readonly run: string; readonly message: string }[] = [];
  let ended = 0;
  let evaluations = 0;
  const upcoming = (function* (): Generator<Job> {
    for (const draw of open) {
      const config = configOfRun(collection, draw);
      yield { name: draw.name, path: join(output, draw.name), config };
    }
  })();
  try {
    await playInThreads(
      upcoming,
      threads,
      {
        evaluated(more) {
          evaluations += more;
          display.evaluated(more);
        },
        end({ name }, failure) {
          ended++;
          if (failure !== undefined) failures.push({ run: name, message: failure });
          display.end(name, failure);
        },
      },
      context,
    );
  } finally {
    display.close();
  }
  const played = ended - failures.length;
  const complete = runs - open.length + played;
  return {
    output: shown,
    status: failures.length > 0 ? 'failed' : complete === runs ? 'completed' : 'interrupted',
    runs,
    complete,
    played,
    evaluations,
    seconds: (context.milliseconds() - started) / 1000,
    failures,
  };
}

function report(summary: Summary, { json }: Args, context: CommandContext): void {
  if (json) {
    context.print(JSON.stringify(summary));
    return;
  }
  const { complete, evaluations, failures, output, played, runs, seconds, status } = summary;
  context.print(
    [
      styleText(
        'bold',
        `${complete} of ${runs} runs complete${failures.length > 0 ? `, ${failures.length} failed` : ''}`,
      ),
      `played      ${played} runs, ${formatCompact(evaluations)} evaluations in ${formatDuration(1000 * seconds)}`,
      `runs        ${output}`,
      status === 'completed'
        ? `learn       policyloop finetune dataset ${output} --recipe best-of-group --out DIRECTORY`
        : 'go on       with the same command',
    ].join('\n'),
  );
}
