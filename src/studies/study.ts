/** Plans a study: each of several configs runs with several arms and several seeds. Each run has its own directory. */

import { basename, extname, join } from 'node:path';
import { UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import type { ModelConfig } from '../config/model.js';
import { plural } from '../format/numbers.js';
import { repeatSeeds } from '../random/seeds.js';
import { isBaseline } from '../search/baselines.js';
import { plainName } from '../storage/files.js';
import type { Plan, PlanEntry } from './plan.js';

export interface StudyArm {
  readonly name: string;
  readonly provider: ModelConfig['provider'];
  /** `key=value` overrides that replace a config's model with the arm's. */
  readonly overrides: readonly string[];
}

export interface StudyRun<Name extends string = string> extends PlanEntry {
  readonly experiment: string;
  readonly arm: Name;
  readonly repeat: number;
}

/** A plan with one run for each experiment, arm and seed. */
export interface StudyPlan<Arm extends StudyArm> extends Plan<StudyRun<Arm['name']>> {
  readonly arms: readonly Arm[];
  /** The name of each experiment's directory, and its config for each arm; these configs differ only in the model. */
  readonly experiments: readonly {
    readonly name: string;
    readonly configs: Readonly<Record<string, Config>>;
  }[];
  /** Root seed of each repeat; all arms share it, so that they have the same warm-up and episodes. */
  readonly seeds: readonly number[];
}

/** `counted`: nouns for the factors of the number of runs. `afterFailure`: see `Plan`. */
const kinds = {
  controls: {
    counted: ['task', 'baseline', 'seed'],
    afterFailure: { label: 'experiment', others: 'the other tasks' },
  },
  evaluation: {
    counted: ['experiment', 'model', 'seed'],
    afterFailure: { label: 'arm', others: 'the other models' },
  },
} as const;

/** Orders runs by repeat, then experiment, then arm, so that an interrupted study still has complete pairs. */
export function studyPlan<Arm extends StudyArm>(
  kind: keyof typeof kinds,
  { arms, experiments, seeds }: Pick<StudyPlan<Arm>, 'arms' | 'experiments' | 'seeds'>,
): StudyPlan<Arm> {
  const { afterFailure, counted } = kinds[kind];
  const entries = seeds.flatMap((seed, repeat) =>
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
  return {
    kind,
    arms,
    experiments,
    seeds,
    entries,
    sharesLimits: entries.some(({ config }) => config.limits.total !== undefined),
    afterFailure,
    shape: [experiments, arms, seeds].map(({ length }, i) => plural(length, counted[i]!)).join(' × '),
  };
}

/**
 * @param files config files, or names of bundled configs
 * @param overrides overrides for all arms; baselines ignore overrides of `model` keys
 * @param seed first root seed (default: the seed of the first config)
 * @param field name of the option that lists the files
 * @param reserved keys that no override may set, with the remedy to suggest
 * @throws UserError if a config can't be used, or an override would invalidate the comparison
 */
export function planStudy<Arm extends StudyArm>(request: {
  readonly kind: keyof typeof kinds;
  readonly arms: readonly Arm[];
  readonly files: readonly string[];
  readonly overrides: readonly string[];
  readonly seed: number | undefined;
  readonly repeats: number;
  readonly cwd: string;
  readonly field: string;
  readonly reserved: Readonly<Record<string, string>>;
}): { readonly plan: StudyPlan<Arm>; readonly notes: readonly string[] } {
  const { arms, cwd, field, files, overrides, repeats, reserved } = request;
  refuseOverrides(overrides, reserved);
  const notes = new Set<string>();
  const experiments = files.map((file) => {
    const configs = arms.map((arm): [string, Config] => {
      const own = isBaseline(arm.provider)
        ? overrides.filter((text) => !text.startsWith('model.'))
        : overrides;
      const loaded = loadConfig({ file, overrides: [...arm.overrides, ...own], cwd });
      // The arms replace each config's model, so a note about it is irrelevant.
      for (const note of loaded.notes) if (!note.startsWith('model.provider=')) notes.add(note);
      requireConfirmation(loaded.config, loaded.file);
      return [arm.name, loaded.config];
    });
    return { name: plainName(basename(file, extname(file)), 'config'), configs: Object.fromEntries(configs) };
  });
  const twice = experiments.find(
    ({ name }, i) => experiments.findIndex((other) => other.name === name) !== i,
  );
  if (twice !== undefined) {
    throw new UserError({
      field,
      message: 'two configs have the same name',
      value: twice.name,
      remedy: 'list each config once, and rename files with the same name',
    });
  }
  const first = experiments[0]?.configs[arms[0]!.name];
  if (first === undefined) {
    throw new UserError({
      field,
      message: 'must contain at least one config',
      remedy: `name the experiments to run, for example ${field.startsWith('--') ? `${field} ` : ''}cartpole-numeric acrobot-numeric`,
    });
  }
  const seeds = repeatSeeds(request.seed ?? first.seed, repeats);
  return { plan: studyPlan(request.kind, { arms, experiments, seeds }), notes: [...notes] };
}

/** @throws UserError for an override of a key that the study sets itself */
export function refuseOverrides(
  overrides: readonly string[],
  reserved: Readonly<Record<string, string>>,
): void {
  for (const text of overrides) {
    const key = text.split('=', 1)[0]!;
    const remedy = Object.hasOwn(reserved, key) ? reserved[key] : undefined;
    if (remedy !== undefined) {
      throw new UserError({ field: key, message: "can't be overridden here", remedy });
    }
  }
}

export function requireConfirmation({ confirmation }: Config, file: string): void {
  if (confirmation.candidates > 0) return;
  throw new UserError({
    file,
    field: 'confirmation.candidates',
    message:
      'is 0, but runs are compared by their confirmed returns, because observed returns are biased by selection',
    remedy: 'set confirmation.candidates=3',
  });
}
