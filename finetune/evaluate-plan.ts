/** What an evaluation will run: every config, with every arm's model, under every seed. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import type { Config } from '../src/config.js';
import { absolutePaths } from '../src/config-paths.js';
import { UserError } from '../src/errors.js';
import { loadConfig } from '../src/load-config.js';
import { lockRun } from '../src/lock.js';
import { readJson } from '../src/models/local/json-file.js';
import { makeDirectory, replaceFile } from '../src/run-directory.js';
import { repeatSeeds } from '../src/seeds.js';
import { type Arm, isControl } from './evaluate-arms.js';

/** One config, and its form for each arm: they differ in the model alone. */
export interface PlannedExperiment {
  /** Name of its directory. */
  readonly name: string;
  /** By arm; the seed is still the config's own. */
  readonly configs: Readonly<Record<string, Config>>;
}

export interface EvaluationPlan {
  readonly arms: readonly Arm[];
  readonly experiments: readonly PlannedExperiment[];
  /** Root seed of each repeat, shared by all arms: the same warm-up, the same episodes. */
  readonly seeds: readonly number[];
}

export interface PlannedRun {
  readonly experiment: string;
  readonly arm: Arm['name'];
  /** From 0. */
  readonly repeat: number;
  readonly config: Config;
  /** Path below the evaluation's directory. */
  readonly path: string;
}

/** By repeat, then config, then arm: whenever it is interrupted, what there is comes in pairs. */
export function plannedRuns({ arms, experiments, seeds }: EvaluationPlan): readonly PlannedRun[] {
  return seeds.flatMap((seed, repeat) =>
    experiments.flatMap(({ name, configs }) =>
      arms.map(({ name: arm }) => ({
        experiment: name,
        arm,
        repeat,
        config: { ...configs[arm]!, seed, repeats: 1 },
        path: join(name, `${arm}-${String(repeat + 1).padStart(2, '0')}`),
      })),
    ),
  );
}

/**
 * @param files configs, or names of ready ones
 * @param overrides for all arms; those of the model for language models alone
 * @param seed first root seed; undefined takes that of the first config
 * @throws UserError where a config can't be used, or an override would undo the comparison
 */
export function planEvaluation(request: {
  readonly arms: readonly Arm[];
  readonly files: readonly string[];
  readonly overrides: readonly string[];
  readonly seed: number | undefined;
  readonly repeats: number;
  readonly cwd: string;
}): { readonly plan: EvaluationPlan; readonly notes: readonly string[] } {
  const { arms, files, overrides, repeats, cwd } = request;
  refuseOverrides(overrides);
  const notes = new Set<string>();
  const experiments = files.map((file): PlannedExperiment => {
    const configs = arms.map((arm): [string, Config] => {
      const own = isControl(arm.provider)
        ? overrides.filter((text) => !text.startsWith('model.'))
        : overrides;
      const loaded = loadConfig({ file, overrides: [...arm.overrides, ...own] });
      // That a config's own model gives way is what was asked for.
      for (const note of loaded.notes) if (!note.startsWith('model.provider=')) notes.add(note);
      requireConfirmation(loaded.config, loaded.file);
      return [arm.name, absolutePaths(loaded.config, loaded.file, cwd)];
    });
    return { name: nameOf(file), configs: Object.fromEntries(configs) };
  });
  const twice = experiments.find(
    ({ name }, i) => experiments.findIndex((other) => other.name === name) !== i,
  );
  if (twice !== undefined) {
    throw new UserError({
      field: '--configs',
      message: 'two configs have this name',
      value: twice.name,
      remedy: 'name each config once; rename a file where two have one name',
    });
  }
  const first = experiments[0]?.configs[arms[0]!.name];
  if (first === undefined) {
    throw new UserError({
      field: '--configs',
      message: 'names no config',
      remedy: 'name the experiments to run: --configs cartpole-numeric acrobot-numeric',
    });
  }
  return {
    plan: { arms, experiments, seeds: repeatSeeds(request.seed ?? first.seed, repeats) },
    notes: [...notes],
  };
}

/** Differs where anything does that would change a result, but for the number of repeats. */
export function planHash({ arms, experiments, seeds }: EvaluationPlan): string {
  const content = [arms.map(({ name, hash }) => [name, hash]), experiments, seeds[0]];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

/** Name of the directory where none is given: the same command finds it again. */
export const defaultName = (plan: EvaluationPlan) => `evaluate-${planHash(plan).slice(0, 10)}`;

const planFile = 'plan.json';
const lockFile = 'evaluation.lock';

/**
 * Makes the directory, or goes on with the evaluation that is there, perhaps with more repeats. This process is then
 * its only writer.
 * @throws UserError when the directory holds something else, or another process writes there
 */
export function openEvaluation(
  directory: string,
  plan: EvaluationPlan,
): { readonly goesOn: boolean; release(): void } {
  const file = join(directory, planFile);
  const goesOn = existsSync(file);
  if (!goesOn) requireFree(directory);
  makeDirectory(directory);
  const release = lockRun(join(directory, lockFile));
  try {
    writePlan(file, plan);
    return { goesOn, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** What lies there would be mixed with the evaluation, or written over. */
function requireFree(directory: string): void {
  if (!existsSync(directory)) return;
  if (readdirSync(directory).every((name) => name === lockFile)) return;
  throw new UserError({
    field: '--out',
    message: 'holds something else than an evaluation',
    value: directory,
    remedy: 'name a new or an empty directory, or none: each evaluation then has its own',
  });
}

/** @throws UserError where the plan in the file is another one */
function writePlan(file: string, plan: EvaluationPlan): void {
  const hash = planHash(plan);
  const written = readJson(file) as { readonly hash?: unknown } | null | undefined;
  if (written !== undefined && written?.hash !== hash) {
    throw new UserError({
      field: '--out',
      message:
        'holds an evaluation of other models, configs, overrides or seeds (or the weights were changed)',
      value: dirname(file),
      remedy: 'name another directory, or none: each evaluation then has its own',
    });
  }
  const arms = plan.arms.map(({ name, label, hash: weights }) => ({ name, label, weights }));
  replaceFile(
    file,
    `${JSON.stringify({ version: 1, hash, arms, seeds: plan.seeds, experiments: plan.experiments }, null, 2)}\n`,
  );
}

/** The file's name, as a directory can have it. */
const nameOf = (file: string) =>
  basename(file, extname(file))
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[-._]+/, '') || 'config';

function refuseOverrides(overrides: readonly string[]): void {
  const reserved: Readonly<Record<string, string>> = {
    model: 'the arms are named by --base and --tuned',
    'model.provider': 'the arms are named by --base and --tuned',
    'model.path': 'the arms are named by --base and --tuned',
    'model.adapter': 'the arms are named by --base and --tuned',
    'model.name': 'the arms are named by --base and --tuned',
    environment: 'the configs say it; name others by --configs',
    seed: 'use --seed',
    repeats: 'use --repeats',
  };
  for (const text of overrides) {
    const key = text.split('=', 1)[0]!;
    const remedy = Object.hasOwn(reserved, key) ? reserved[key] : undefined;
    if (remedy !== undefined) {
      throw new UserError({ field: key, message: "can't be overridden in an evaluation", remedy });
    }
  }
}

function requireConfirmation({ confirmation }: Config, file: string): void {
  if (confirmation.candidates > 0) return;
  throw new UserError({
    file,
    field: 'confirmation.candidates',
    message:
      'is 0, but runs are compared by their confirmed returns: the observed ones are selected on noise',
    remedy: 'confirmation.candidates=3',
  });
}
