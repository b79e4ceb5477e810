/** Plans an evaluation: every config runs with every arm and every seed, each run in its own directory. */

import { basename, extname, join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { plainName } from '../../src/base/files/files.js';
import { repeatSeeds } from '../../src/base/random/seeds.js';
import { plural } from '../../src/base/text/numbers.js';
import { isBaselineName } from '../../src/config/baselines.js';
import type { Config } from '../../src/config/config.js';
import { loadConfig } from '../../src/config/load.js';
import { type Plan, type PlanEntry, requireConfirmation } from '../../src/studies/plan.js';
import type { Arm, ArmName } from './arms.js';

interface EvaluationEntry extends PlanEntry {
  readonly experiment: string;
  readonly arm: ArmName;
  readonly repeat: number;
}

/** A plan with one run for each experiment, arm and seed. */
export interface EvaluationPlan extends Plan {
  readonly entries: readonly EvaluationEntry[];
  readonly arms: readonly Arm[];
  /** The name of each experiment's directory, and its config for each arm; these configs differ only in the model. */
  readonly experiments: readonly {
    readonly name: string;
    readonly configs: Readonly<Record<string, Config>>;
  }[];
  /** Root seed of each repeat; all arms share it, so that they have the same warm-up and episodes. */
  readonly seeds: readonly number[];
}

/**
 * @param files config files, or names of bundled configs
 * @param overrides overrides for all arms; baselines ignore overrides of `model` keys
 * @param seed first root seed (default: the seed of the first config)
 * @throws UserError if a config can't be used, or an override would invalidate the comparison
 */
export function planEvaluation(request: {
  readonly arms: readonly Arm[];
  readonly files: readonly string[];
  readonly overrides: readonly string[];
  readonly seed: number | undefined;
  readonly repeats: number;
  readonly cwd: string;
}): EvaluationPlan {
  const { arms, cwd, files, overrides, repeats } = request;
  rejectOverrides(overrides);
  const notes = new Set<string>();
  const experiments = files.map((file) => {
    const configs = arms.map((arm): [string, Config] => {
      const armOverrides = isBaselineName(arm.provider)
        ? overrides.filter((text) => !text.startsWith('model.'))
        : overrides;
      const loaded = loadConfig({ file, overrides: [...arm.overrides, ...armOverrides], cwd });
      // The arms replace each config's model, so a note about it is irrelevant.
      for (const note of loaded.notes) if (!note.startsWith('model.provider=')) notes.add(note);
      requireConfirmation(loaded.config, loaded.file);
      return [arm.name, loaded.config];
    });
    return { name: plainName(basename(file, extname(file)), 'config'), configs: Object.fromEntries(configs) };
  });
  const names = experiments.map(({ name }) => name);
  const duplicate = names.find((name, i) => names.indexOf(name) !== i);
  if (duplicate !== undefined) {
    throw new UserError({
      field: '--configs',
      message: 'two configs have the same name',
      value: duplicate,
      hint: 'list each config once, and rename files with the same name',
    });
  }
  const firstConfig = experiments[0]?.configs[arms[0]!.name];
  if (firstConfig === undefined) {
    throw new UserError({
      field: '--configs',
      message: 'must contain at least one config',
      hint: 'name the experiments to run, for example --configs cartpole-numeric acrobot-numeric',
    });
  }
  const seeds = repeatSeeds(request.seed ?? firstConfig.seed, repeats);
  // Ordered by repeat, then experiment, then arm, so that an interrupted evaluation still has complete pairs.
  const entries = seeds.flatMap((seed, repeat) =>
    experiments.flatMap(({ name, configs }) =>
      arms.map(({ name: arm }) => ({
        experiment: name,
        arm,
        repeat,
        config: { ...configs[arm]!, seed },
        path: join(name, `${arm}-${String(repeat + 1).padStart(2, '0')}`),
      })),
    ),
  );
  const shape = `${plural(experiments.length, 'experiment')} × ${plural(arms.length, 'model')} × ${plural(seeds.length, 'seed')}`;
  return { kind: 'evaluation', arms, experiments, seeds, entries, shape, notes: [...notes] };
}

const reservedKeys = /^(model(\.(provider|path|adapter|name))?|environment|seed)$/;

/** @throws UserError for an override of a key that the evaluation sets itself */
function rejectOverrides(overrides: readonly string[]): void {
  const key = overrides.map((text) => text.split('=', 1)[0]!).find((one) => reservedKeys.test(one));
  if (key === undefined) return;
  throw new UserError({
    field: key,
    message: "can't be overridden here",
    hint: 'use --base, --tuned, --configs or --seed',
  });
}
