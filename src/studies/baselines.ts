/** Runs baselines on many tasks, with repeats, and tabulates their results. */
import { join, resolve } from 'node:path';
import { type CommandContext, exitCodeOf, shownPath } from '../base/context.js';
import { withoutOverrides } from '../base/overrides-apart.js';
import { loadConfig } from '../config/load.js';
import { fitted } from '../format/width.js';
import { runFiles } from '../runs/reader.js';
import { baselineArm, requireBaseline } from '../search/baselines.js';
import { replaceFile } from '../storage/files.js';
import { page } from '../web/page.js';
import { inFile } from '../web/study.js';
import { baselinesPage } from './baselines-page.js';
import {
  type BaselinesPlan,
  type BaselinesResult,
  type Budget,
  baselinesCsv,
  baselinesMarkdown,
  baselinesOnTerminal,
  baselinesResult,
  runReader,
} from './baselines-result.js';
import { type ConfigHashes, hashOf, type PlayArguments, placeOf, resultFiles } from './plan.js';
import { failureLines, isHandedOver, type Played, playPlan, reportProgress } from './play.js';
import { studyOnSlurm } from './slurm.js';
import { planStudy } from './study.js';

interface BaselinesRequest extends Budget, PlayArguments {
  /** Config files, and key=value overrides that apply to all of them. */
  readonly configs: readonly string[];
  /** Comma-separated baselines (default: a selection that fits the policies of the first config). */
  readonly controls?: string | undefined;
  /** First root seed (default: the seed of the first config). */
  readonly seed?: number | undefined;
  readonly repeats: number;
  /** Directory of the study (default: one below `runsDir`, derived from the configs). */
  readonly out?: string | undefined;
  readonly runsDir: string;
  readonly slurm?: boolean | undefined;
  readonly markdown?: string | undefined;
  readonly csv?: string | undefined;
}

/**
 * Executes the remaining runs of the study and prints the table. Returns the exit code.
 * @throws UserError if a config or an override would invalidate the comparison, or the directory holds another study
 */
export async function playBaselines(request: BaselinesRequest, context: CommandContext): Promise<number> {
  const { candidates, episodes, iterations } = request;
  const { plan, notes } = planBaselines(request, context.cwd);
  const elsewhere = request.slurm === true ? studyOnSlurm(request.configs, context) : undefined;
  for (const note of notes) context.note(note);
  const place = placeOf(
    {
      ...{ kind: 'controls', key: 'configs', hashes: configHashes(plan), name: 'controls' },
      changed: 'budget, config or first seed',
    },
    { cwd: context.cwd, out: request.out, runsDir: request.runsDir },
  );
  const { directory } = place;
  const read = runReader(directory);
  const played = await playPlan(plan, place, { ...request, elsewhere }, context, (failed) => {
    const failures = failed.map(({ entry: { experiment, path: run }, message }) => ({
      experiment,
      run,
      message,
    }));
    const result = baselinesResult(plan, {
      budget: { iterations, candidates, episodes },
      failures,
      now: context.now(),
      read,
    });
    replaceFile(join(directory, resultFiles.controls), `${JSON.stringify(result, null, 2)}\n`);
    replaceFile(join(directory, runFiles.report), page(baselinesPage(result, inFile)));
    return result;
  });
  if (isHandedOver(played, request)) return reportProgress(played, directory, request, context);
  report(played.result!, played, directory, request, context);
  return exitCodeOf(played.status);
}

const reserved: Readonly<Record<string, string>> = {
  iterations: 'use --iterations',
  candidates: 'use --candidates',
  'evaluation.episodes': 'use --episodes',
  seed: 'use --seed',
  repeats: 'use --repeats',
  environment: 'choose environments by listing their configs',
  model: 'choose baselines with --controls; they use their default settings',
  'model.provider': 'choose baselines with --controls',
  'model.sigma': 'use policyloop run to change the settings of a baseline',
  'model.population': 'use policyloop run to change the settings of a baseline',
};

function planBaselines(request: BaselinesRequest, cwd: string) {
  const { candidates, episodes, iterations } = request;
  const same = [
    `iterations=${iterations}`,
    `candidates=${candidates}`,
    `evaluation.episodes=${episodes}`,
    // Baselines don't read trajectories, and long episodes would fill the disk.
    'memory.trajectories=none',
    'record=none',
    // Baselines use none of these. To match the evaluations of a critic's revisions, raise --candidates.
    'demonstrations=',
    'critic=',
    'screening=',
    'feedback=',
  ];
  const { files, overrides } = withoutOverrides(request.configs);
  const usual = (file = '') =>
    loadConfig({ file, overrides, cwd }).config.policy?.kind === 'program'
      ? 'random,genetic'
      : 'random,hill-climb,cma-es';
  return planStudy({
    kind: 'controls',
    arms: [...new Set((request.controls ?? usual(files[0])).split(','))].map((name) => {
      const arm = baselineArm(requireBaseline('--controls', name.trim()));
      return { ...arm, overrides: [...arm.overrides, ...same] };
    }),
    ...{ files, overrides },
    seed: request.seed,
    repeats: request.repeats,
    cwd,
    field: 'configs',
    reserved,
  });
}

/** For each experiment, a hash of everything that affects its results, except the baseline and number of repeats. */
function configHashes({ experiments, seeds }: BaselinesPlan): ConfigHashes {
  return Object.fromEntries(
    experiments.map(({ name, configs }) => {
      const { model: _model, repeats: _repeats, seed: _seed, ...rest } = Object.values(configs)[0]!;
      const { workers: _workers, ...evaluation } = rest.evaluation;
      return [name, hashOf([{ ...rest, evaluation }, seeds[0]])];
    }),
  );
}

/** The last line that `--json` prints. */
export interface BaselinesSummary extends Omit<BaselinesResult, 'runs'> {
  /** Directory of the runs. */
  readonly out: string;
}

function report(
  result: BaselinesResult,
  played: Played,
  directory: string,
  { csv, json, markdown }: BaselinesRequest,
  context: CommandContext,
): void {
  if (markdown !== undefined) replaceFile(resolve(context.cwd, markdown), baselinesMarkdown(result));
  if (csv !== undefined) replaceFile(resolve(context.cwd, csv), baselinesCsv(result));
  const out = shownPath(directory, context.cwd);
  if (json) {
    const { runs: _runs, ...rest } = result;
    context.print(JSON.stringify({ ...rest, out } satisfies BaselinesSummary));
    return;
  }
  const lines = [
    baselinesOnTerminal(result, context.columns),
    ...failureLines(played),
    `runs        ${out}`,
    `page        ${join(out, runFiles.report)}`,
  ];
  context.print(fitted(lines.join('\n'), context.columns));
}
