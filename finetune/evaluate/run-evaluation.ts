/** Runs an evaluation and reports the results. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type CommandContext, shownPath } from '../../src/base/context.js';
import { replaceFile } from '../../src/base/files/files.js';
import { splitOverrides } from '../../src/base/overrides-apart.js';
import { loadSlurm } from '../../src/config/load.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { runFiles } from '../../src/runs/reader.js';
import {
  checkConfig,
  hashOf,
  type PlanArguments,
  type PlanStore,
  rejectDirectory,
  resultFiles,
} from '../../src/studies/plan.js';
import { runPlan } from '../../src/studies/schedule.js';
import { pageHtml } from '../../src/web/page.js';
import { fileContext } from '../../src/web/study.js';
import { openArms, trainingEnvironments } from './arms.js';
import { evaluate } from './evaluate.js';
import { type EvaluatedRun, type Evaluation, type RunFigures, readFigures } from './evaluation.js';
import { evaluationPage } from './page.js';
import { type EvaluationPlan, planEvaluation } from './plan.js';
import { cautions, conclusions, evaluationTables } from './tables.js';

interface EvaluationRequest extends PlanArguments {
  /** A directory, GGUF file, `ollama:NAME`, `openai:NAME` or a baseline; see `openArms`. */
  readonly tuned: string;
  readonly base?: string | undefined;
  readonly baseline: readonly string[];
  readonly configs: readonly string[];
  /** First root seed. Default: the first config's. */
  readonly seed?: number | undefined;
  readonly repeats: number;
  /** Environment ids separated by commas, or `none`. */
  readonly trainedOn?: string | undefined;
}

const outputFiles = { result: resultFiles.evaluation, page: 'index.html' } as const;

/** Completes the runs of an evaluation and prints the results. @returns the exit code */
export async function runEvaluation(args: EvaluationRequest, context: CommandContext): Promise<number> {
  const environments = args.trainedOn === undefined ? undefined : await environmentsIn(args.trainedOn);
  const arms = openArms(args.base, args.tuned, args.baseline, context.cwd);
  const inputs = splitOverrides(args.configs);
  const overrides = [...inputs.overrides, ...args.overrides];
  const { repeats, seed } = args;
  const plan = planEvaluation({ arms, files: inputs.files, overrides, seed, repeats, cwd: context.cwd });
  for (const { name, configs } of plan.experiments)
    for (const config of Object.values(configs)) await checkConfig(config, context.env, `experiment ${name}`);
  const trainedOn = trainingEnvironments(arms.find(({ name }) => name === 'tuned')!, environments);
  for (const note of plan.notes ?? []) context.note(note);
  if (trainedOn.kind === 'unknown') context.note(`training environments unknown: ${trainedOn.reason}`);

  const out = args.out ?? join(args.runsDir, `evaluate-${planHash(plan).slice(0, 10)}`);
  const directory = resolve(context.cwd, out);
  const figuresByPath = new Map<string, RunFigures>();
  const store = evaluationDirectory(directory, plan);
  const cluster = args.slurm ? loadSlurm({ file: inputs.files[0]!, overrides, cwd: context.cwd }) : undefined;
  return runPlan(plan, store, { ...args, cluster }, context, {
    write: (failures) => {
      const runs = plan.entries.map(({ experiment, arm, repeat, path }): EvaluatedRun => {
        return { experiment, arm, repeat, path, figures: figuresOf(join(directory, path), figuresByPath) };
      });
      const evaluation = evaluate(plan, runs, trainedOn, failures);
      replaceFile(join(directory, outputFiles.result), `${JSON.stringify(evaluation, null, 2)}\n`);
      replaceFile(join(directory, outputFiles.page), pageHtml(evaluationPage(evaluation, fileContext)));
      return evaluation;
    },
    print: (evaluation) => printEvaluation(evaluation, directory, args, context),
    page: outputFiles.page,
  });
}

function figuresOf(path: string, cache: Map<string, RunFigures>): RunFigures | null {
  if (!existsSync(join(path, runFiles.manifest))) return null;
  const figures = cache.get(path) ?? readFigures(path);
  if (figures.isOver) cache.set(path, figures);
  return figures;
}

function printEvaluation(
  evaluation: Evaluation,
  directory: string,
  args: EvaluationRequest,
  context: CommandContext,
): void {
  const page = shownPath(join(directory, outputFiles.page), context.cwd);
  if (args.json) {
    const { runs: _runs, ...rest } = evaluation;
    const out = shownPath(directory, context.cwd);
    const texts = { conclusions: conclusions(evaluation), cautions: cautions(evaluation) };
    context.print(JSON.stringify({ ...rest, ...texts, out, page }));
    return;
  }
  context.print(evaluationTables(evaluation, context.columns));
  context.print(`page        ${page}`);
}

/** @throws UserError for an unknown environment */
async function environmentsIn(list: string): Promise<readonly string[]> {
  if (list.trim() === 'none') return [];
  const ids = list.split(',').map((id) => id.trim());
  for (const id of ids) await makeEnvironment(id, {});
  return ids;
}

/** Hash of everything that affects the results, except the number of repeats. */
function planHash({ arms, experiments, seeds }: EvaluationPlan): string {
  return hashOf([arms.map(({ name, hash }) => [name, hash]), experiments, seeds[0]]);
}

/** `record` throws a UserError if the directory contains another evaluation; adding repeats is allowed. */
function evaluationDirectory(directory: string, plan: EvaluationPlan): PlanStore {
  const hash = planHash(plan);
  const record = (written: unknown) => {
    if (written !== undefined && (written as { readonly hash?: unknown } | null)?.hash !== hash) {
      const message = 'contains an evaluation with different models, weights, configs, overrides or seeds';
      rejectDirectory('evaluation', directory, message);
    }
    const arms = plan.arms.map(({ name, label, hash: weights }) => ({ name, label, weights }));
    return { version: 1, kind: 'evaluation', hash, arms, seeds: plan.seeds, experiments: plan.experiments };
  };
  return { directory, record };
}
