/** Executes a sweep: many runs of one config with different values of some keys, for several seeds. */
import { join, resolve } from 'node:path';
import { type CommandContext, shownPath } from '../../base/context.js';
import { replaceFile } from '../../base/files/files.js';
import { formatDuration, plural } from '../../base/text/numbers.js';
import { fitText } from '../../base/text/width.js';
import { loadSlurm } from '../../config/load.js';
import { limitField } from '../../runs/calls.js';
import { runFiles } from '../../runs/reader.js';
import { formatUsage } from '../../runs/summary.js';
import { minForVerdict } from '../../statistics/tests.js';
import { pageHtml } from '../../web/page.js';
import { fileContext } from '../../web/study.js';
import { checkConfig, commandOf, type PlanArguments, resultFiles } from '../plan.js';
import { type PlanOutcome, runPlan } from '../schedule.js';
import { dryRunSweep } from './sweep-dry-run.js';
import { sweepPage } from './sweep-page.js';
import { loadPlannedSweep, sweepPlan, sweepStore } from './sweep-plan.js';
import { type SweepResult, sweepReader, sweepResult } from './sweep-result.js';
import { sweepText } from './sweep-tables.js';

interface SweepArguments extends PlanArguments {
  readonly config: string;
  /** True to add baselines with the budget of each setting. */
  readonly baselines: boolean;
  /** True to print the settings and an estimate, and run nothing. */
  readonly dryRun?: boolean | undefined;
}

/**
 * Executes the remaining runs of a sweep and prints its results. Returns the exit code.
 * @throws UserError if a setting can't run, before any run starts
 */
export async function runSweep(args: SweepArguments, context: CommandContext): Promise<number> {
  const { baselines, config: file, overrides } = args;
  const { cwd } = context;
  const sweep = loadPlannedSweep(file, overrides, baselines, cwd);
  for (const note of sweep.notes) context.note(note);
  if (sweep.seeds.length === 1 && sweep.settings.length === 1)
    context.note('nothing varies, so this is a single run: add e.g. seed=1..6 or model.provider=random,gp');
  if (areTooFew(sweep.seeds) && sweep.settings.length > 1)
    context.note(
      `${plural(sweep.seeds.length, 'seed')} can't give a verdict: use at least seed=1..${minForVerdict} or, better, seed=1..10`,
    );
  for (const { name, config } of sweep.settings) await checkConfig(config, context.env, `setting ${name}`);
  const cluster = args.slurm === true ? loadSlurm({ file, overrides, cwd }) : undefined;
  if (args.dryRun === true) return dryRunSweep(sweep, args.json, context);
  const store = sweepStore(sweep, args, cwd);
  const { directory } = store;
  const read = sweepReader(directory);
  return runPlan(sweepPlan(sweep), store, { ...args, cluster }, context, {
    write: (failures) => writeSweep(sweepResult(sweep, failures, context.now(), read), directory),
    print: (result, outcome) => printSweep(result, outcome, directory, args, context),
    page: runFiles.report,
  });
}

function writeSweep(result: SweepResult, directory: string): SweepResult {
  replaceFile(join(directory, resultFiles.sweep), `${JSON.stringify(result, null, 2)}\n`);
  replaceFile(join(directory, runFiles.report), pageHtml(sweepPage(result, fileContext)));
  return result;
}

const areTooFew = ({ length }: readonly number[]) => length < minForVerdict;

function printSweep(
  result: SweepResult,
  outcome: PlanOutcome,
  directory: string,
  { json }: SweepArguments,
  context: CommandContext,
): void {
  const out = shownPath(directory, context.cwd);
  const { words = ['sweep', '…'] } = context;
  const command = commandOf({ words: [...words.filter((word) => !word.startsWith('seed=')), 'seed=1..10'] });
  if (json) {
    // `status` describes this command; `result`, the whole sweep.
    context.print(JSON.stringify({ ...result, status: outcome.status, result: result.status, out }));
    return;
  }
  const lines = [
    sweepText(result, context.columns),
    '',
    ...outcome.failures.map(({ message, run }) => `failed      ${run}: ${message}`),
    ...(outcome.limit ? [`stopped: ${limitField(outcome.limit)} was reached`] : []),
    `runs        ${plural(outcome.complete, 'run')} complete, total time ${formatDuration(result.activeMs)}: ${out}`,
    ...(result.usage.promptTokens > 0 ? [`usage       ${formatUsage(result.usage)}`] : []),
    `page        ${shownPath(resolve(directory, runFiles.report), context.cwd)}`,
    ...(outcome.limit
      ? ['resume      with the same command and a higher limit']
      : outcome.status === 'completed'
        ? areTooFew(result.seeds) && result.tasks.some(({ settings }) => settings.length > 1)
          ? [`more seeds  ${command}`]
          : []
        : [`resume      ${commandOf(context) ?? 'with the same command'}`]),
  ];
  context.print(fitText(lines.join('\n'), context.columns));
}
