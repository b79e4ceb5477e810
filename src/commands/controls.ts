/** `policyloop controls`: random search, hill climbing and CMA-ES on many tasks, with repeats. */
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, kinds, studyOptions } from '../command.js';
import { type CommandContext, requireCount } from '../context.js';
import { UserError } from '../errors.js';
import { shownPath } from '../runs/facts.js';
import { type ControlName, controlArm, controlNames, isControl } from '../search/controls.js';
import { replaceFile } from '../storage/replace-file.js';
import {
  type Budget,
  type ControlsPlan,
  type ControlsResult,
  controlsResult,
  runReader,
} from '../studies/controls-result.js';
import { controlsCsv, controlsMarkdown, controlsOnTerminal } from '../studies/controls-table.js';
import { requireJobs } from '../studies/plan.js';
import { failureLines, type Played, playPlan } from '../studies/play.js';
import { exitCodeOf } from '../studies/single-run.js';
import { planStudy, withoutOverrides } from '../studies/study.js';

export const options = (y: Argv) =>
  studyOptions(
    y
      .positional('configs', {
        type: 'string',
        array: true,
        demandOption: true,
        describe: 'Config files, or names of ready ones; and key=value for all of them',
      })
      .option('controls', {
        ...kinds.text,
        default: 'random,hill-climb,cma-es',
        describe: 'Which ones, separated by commas; one-plus-one-es and mixture are there too',
      })
      .option('iterations', {
        ...kinds.number,
        default: 400,
        describe: 'Iterations of a run, after its warm-up',
      })
      .option('candidates', { ...kinds.number, default: 1, describe: 'Proposals an iteration' })
      .option('episodes', { ...kinds.number, default: 20, describe: 'Episodes an evaluation' })
      .option('repeats', {
        ...kinds.number,
        default: 5,
        describe: 'Seeds that everything is played with',
      })
      .option('markdown', {
        ...kinds.text,
        describe: 'Write the table to this file, as documents have it',
      })
      .option('csv', { ...kinds.text, describe: 'Write the table to this file, as CSV' }),
  ).example(
    '$0 controls cartpole-numeric pong-numeric nim-numeric --repeats 10',
    'random search, hill climbing and CMA-ES; the same command goes on, as does one with more tasks and the same --out',
  );

type Args = Arguments<typeof options>;

export const finishing = 'finishing the iteration (the same command goes on; Ctrl-C again stops at once)';

const resultFile = 'controls.json';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireJobs(args);
  const budget = budgetOf(args);
  requireCount('--repeats', args.repeats, 1);
  if (args.seed !== undefined) requireCount('--seed', args.seed, 0);
  const { plan, notes } = planControls(args, budget, context.cwd);
  for (const note of notes) context.note(note);
  const hashes = configHashes(plan);
  const directory = resolve(context.cwd, args.out ?? join(args.runsDir, defaultName(hashes)));
  const record = (written: unknown) => {
    const configs = { ...compatible(written, hashes, directory), ...hashes };
    return { version: 1, kind: 'controls', configs };
  };
  const read = runReader(directory);
  const played = await playPlan(plan, { directory, record }, args, context, (failed) => {
    const failures = failed.map(({ entry: { experiment, path: run }, message }) => ({
      experiment,
      run,
      message,
    }));
    const result = controlsResult(plan, { budget, failures, now: context.now(), read });
    replaceFile(join(directory, resultFile), `${JSON.stringify(result, null, 2)}\n`);
    return result;
  });
  report(played.result, played, directory, args, context);
  return exitCodeOf(played.status);
}

function budgetOf({ iterations, candidates, episodes }: Budget): Budget {
  requireCount('--iterations', iterations, 1);
  requireCount('--candidates', candidates, 1);
  requireCount('--episodes', episodes, 1);
  return { iterations, candidates, episodes };
}

const reserved: Readonly<Record<string, string>> = {
  iterations: 'use --iterations',
  candidates: 'use --candidates',
  'evaluation.episodes': 'use --episodes',
  seed: 'use --seed',
  repeats: 'use --repeats',
  environment: 'the configs say it',
  model: 'the controls play with their defaults; name them by --controls',
  'model.provider': 'name the controls by --controls',
  'model.sigma': 'the controls play with their defaults; policyloop run takes others',
  'model.population': 'the controls play with their defaults; policyloop run takes others',
};

function planControls(args: Args, { iterations, candidates, episodes }: Budget, cwd: string) {
  const { files, overrides } = withoutOverrides(args.configs);
  const same = [
    `iterations=${iterations}`,
    `candidates=${candidates}`,
    `evaluation.episodes=${episodes}`,
    // No control reads trajectories, and those of long episodes fill a disk.
    'memory.trajectories=none',
    'record=none',
  ];
  return planStudy({
    kind: 'controls',
    arms: namedControls(args.controls).map((name) => {
      const arm = controlArm(name);
      return { ...arm, overrides: [...arm.overrides, ...same] };
    }),
    files,
    overrides,
    seed: args.seed,
    repeats: args.repeats,
    cwd,
    field: 'configs',
    reserved,
  });
}

function namedControls(list: string): readonly ControlName[] {
  const names = [...new Set(list.split(',').map((name) => name.trim()))];
  return names.map((name) => {
    if (isControl(name)) return name;
    throw new UserError({
      field: '--controls',
      message: 'there is no such control',
      value: name,
      alternatives: [...controlNames],
    });
  });
}

type ConfigHashes = Readonly<Record<string, string>>;

/** By experiment, of all that would change a result but for the control and the number of repeats. */
function configHashes({ experiments, seeds }: ControlsPlan): ConfigHashes {
  return Object.fromEntries(
    experiments.map(({ name, configs }) => {
      const { model: _model, repeats: _repeats, seed: _seed, ...rest } = Object.values(configs)[0]!;
      const { workers: _workers, ...evaluation } = rest.evaluation;
      const content = JSON.stringify([{ ...rest, evaluation }, seeds[0]]);
      return [name, createHash('sha256').update(content).digest('hex')];
    }),
  );
}

/** Name of the directory where none is given: the same command finds it again, as does one with other controls. */
const defaultName = (hashes: ConfigHashes) =>
  `controls-${createHash('sha256').update(JSON.stringify(hashes)).digest('hex').slice(0, 10)}`;

/**
 * The configs that a directory was made for: more of them, more controls and more repeats may join.
 * @throws UserError where one of them was another then
 */
function compatible(written: unknown, hashes: ConfigHashes, directory: string): ConfigHashes {
  if (written === undefined) return {};
  const { kind, configs = {} } = (written ?? {}) as { kind?: unknown; configs?: ConfigHashes };
  const changed = Object.entries(hashes).find(([name, hash]) => (configs[name] ?? hash) !== hash);
  if (kind === 'controls' && changed === undefined) return configs;
  throw new UserError({
    field: '--out',
    message:
      changed === undefined
        ? 'holds something else than controls'
        : `holds runs of ${changed[0]} with another budget, config or first seed`,
    value: directory,
    remedy: 'name another directory, or none',
  });
}

function report(
  result: ControlsResult,
  played: Played,
  directory: string,
  args: Args,
  context: CommandContext,
): void {
  if (args.markdown !== undefined) replaceFile(resolve(context.cwd, args.markdown), controlsMarkdown(result));
  if (args.csv !== undefined) replaceFile(resolve(context.cwd, args.csv), controlsCsv(result));
  const out = shownPath(directory, context.cwd);
  if (args.json) {
    const { runs: _runs, ...rest } = result;
    context.print(JSON.stringify({ ...rest, out }));
    return;
  }
  context.print([controlsOnTerminal(result), ...failureLines(played), `runs        ${out}`].join('\n'));
}
