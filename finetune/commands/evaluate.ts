/** `policyloop finetune evaluate`: the same experiments with the base and the tuned model, and what changed. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, kinds, studyOptions } from '../../src/command.js';
import { type CommandContext, requireCount } from '../../src/context.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { assemble, closeEnvironment } from '../../src/experiment/assemble.js';
import { shownPath } from '../../src/runs/facts.js';
import { runFiles } from '../../src/runs/reader.js';
import { controlNames } from '../../src/search/controls.js';
import { replaceFile } from '../../src/storage/replace-file.js';
import { requireJobs } from '../../src/studies/plan.js';
import { playPlan } from '../../src/studies/play.js';
import { exitCodeOf } from '../../src/studies/single-run.js';
import { withoutOverrides } from '../../src/studies/study.js';
import { openArms, trainedOn } from '../evaluate/arms.js';
import { cautions, conclusions } from '../evaluate/conclusion.js';
import { evaluate } from '../evaluate/evaluate.js';
import type { EvaluatedRun, Evaluation } from '../evaluate/evaluation.js';
import { type RunFigures, readFigures } from '../evaluate/figures.js';
import { renderEvaluationPage } from '../evaluate/page.js';
import { defaultName, type EvaluationPlan, evaluationPlace, planEvaluation } from '../evaluate/plan.js';
import { evaluationTables } from '../evaluate/tables.js';

export const options = (y: Argv) =>
  studyOptions(
    y
      .positional('overrides', {
        type: 'string',
        array: true,
        default: [],
        describe: 'key=value for all configs, e.g. iterations=50 model.temperature=1',
      })
      .option('tuned', {
        ...kinds.text,
        demandOption: true,
        describe: 'Directory of an adapter, a model, or a training; or ollama:NAME, openai:NAME, a control',
      })
      .option('base', {
        ...kinds.text,
        describe: 'The model to compare it with (default: the one that it was trained from)',
      })
      .option('configs', {
        ...kinds.text,
        array: true,
        demandOption: true,
        describe: 'Experiments that all models play: files, or names of ready ones',
      })
      .option('control', {
        ...kinds.text,
        array: true,
        default: [],
        choices: controlNames,
        describe: 'Searches that play beside them with the same budget',
      })
      .option('repeats', {
        ...kinds.number,
        default: 10,
        describe: 'Seeds that everything is played with; fewer than 6 give no verdict',
      })
      .option('trained-on', {
        ...kinds.text,
        describe:
          'Environments that it has learnt from, ID,… or none (default: what its training wrote down)',
      }),
  ).example(
    '$0 finetune evaluate --tuned tuned --configs cartpole-numeric acrobot-numeric --control random iterations=50',
    'plays both with the tuned model, its base, and random search; the same command goes on',
  );

type Args = Arguments<typeof options>;

export const finishing = 'finishing the iteration; the same command goes on (Ctrl-C again stops at once)';

const files = { result: 'evaluation.json', page: 'index.html' } as const;

export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireJobs(args);
  requireCount('--repeats', args.repeats, 1);
  if (args.seed !== undefined) requireCount('--seed', args.seed, 0);
  const stated = args.trainedOn === undefined ? undefined : await environmentsIn(args.trainedOn);
  const { arms, notes } = openArms(args.base, args.tuned, args.control, context.cwd);
  const given = withoutOverrides(args.configs);
  const { plan, notes: configNotes } = planEvaluation({
    arms,
    files: given.files,
    overrides: [...given.overrides, ...args.overrides],
    seed: args.seed,
    repeats: args.repeats,
    cwd: context.cwd,
  });
  await requireAssembling(plan, context);
  const known = trainedOn(arms.find(({ name }) => name === 'tuned')!, stated);
  for (const note of [...notes, ...configNotes]) context.note(note);
  if (known.kind === 'unknown') context.note(`transfer can't be told apart: ${known.reason}`);

  const directory = resolve(context.cwd, args.out ?? join(args.runsDir, defaultName(plan)));
  const read = new Map<string, RunFigures>();
  const place = evaluationPlace(directory, plan);
  const played = await playPlan(plan, place, args, context, (failed) => {
    const runs = plan.entries.map(({ experiment, arm, repeat, path }): EvaluatedRun => {
      return { experiment, arm, repeat, path, figures: figuresOf(join(directory, path), read) };
    });
    const failures = failed.map(({ entry: { arm, path: run }, message }) => ({ arm, run, message }));
    const evaluation = evaluate(plan, runs, known, failures);
    replaceFile(join(directory, files.result), `${JSON.stringify(evaluation, null, 2)}\n`);
    replaceFile(join(directory, files.page), renderEvaluationPage(evaluation));
    return evaluation;
  });
  report(played.result, directory, args, context);
  return exitCodeOf(played.status);
}

/** What is wrong with a config or a model is found before anything is played. */
async function requireAssembling({ experiments }: EvaluationPlan, context: CommandContext): Promise<void> {
  for (const { configs } of experiments) {
    for (const config of Object.values(configs)) {
      await closeEnvironment(await assemble(config, context.env));
    }
  }
}

/** Runs that are complete are read once. */
function figuresOf(path: string, read: Map<string, RunFigures>): RunFigures | null {
  if (!existsSync(join(path, runFiles.manifest))) return null;
  const figures = read.get(path) ?? readFigures(path);
  if (figures.status === 'completed') read.set(path, figures);
  return figures;
}

function report(evaluation: Evaluation, directory: string, args: Args, context: CommandContext): void {
  const page = shownPath(join(directory, files.page), context.cwd);
  if (args.json) {
    const { runs: _runs, ...rest } = evaluation;
    const out = shownPath(directory, context.cwd);
    const said = { conclusions: conclusions(evaluation), cautions: cautions(evaluation) };
    context.print(JSON.stringify({ ...rest, ...said, out, page }));
    return;
  }
  context.print(evaluationTables(evaluation));
  context.print(`page        ${page}`);
}

/** @throws UserError for an environment that there isn't */
async function environmentsIn(list: string): Promise<readonly string[]> {
  if (list.trim() === 'none') return [];
  const ids = list.split(',').map((id) => id.trim());
  for (const id of ids) await makeEnvironment(id, {});
  return ids;
}
