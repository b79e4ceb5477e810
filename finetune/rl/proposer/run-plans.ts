/** The plans of the runs played during training. Run `n` of a plan is a pure function of the config. */
import type { z } from 'zod';
import type { UserError } from '../../../src/base/errors.js';
import type { Config } from '../../../src/config/config.js';
import { deriveSeeds } from '../../../src/random/generator.js';
import {
  type Collection,
  type Layer,
  layersOf,
  type tasksSchema,
} from '../../../src/studies/collection/collection-config.js';
import { configOfRun, drawRun } from '../../../src/studies/collection/collection-plan.js';

/** The settings that determine the runs. */
interface RunSettings {
  readonly experiment: Layer;
  readonly tasks: Tasks;
  readonly heldOut: Tasks;
  /** Directory of the model. */
  readonly model: string;
  readonly seed: number;
  readonly evaluation: { readonly runs: number };
}

type Tasks = z.output<typeof tasksSchema>;

export interface RunPlans {
  readonly training: Collection;
  readonly heldOut: Collection;
}

/** First spawn keys below the seed. */
const streams = { training: 20, heldOut: 21 } as const;

/** @param locate adds the location in the file to problems with a run's config */
export function runPlans(
  { experiment, heldOut, model, seed, tasks }: RunSettings,
  locate: (error: UserError, list: 'tasks' | 'heldOut', task: number) => UserError = (error) => error,
): RunPlans {
  const plan = (list: 'tasks' | 'heldOut', layers: Tasks, stream: number): Collection => ({
    output: '',
    runs: 1,
    seed: deriveSeeds(seed, [stream], 1)[0]!,
    experiment,
    tasks: layersOf(layers),
    proposers: [{ weight: 1, layer: { model: { provider: 'local', path: model } } }],
    locate: (error, task) => locate(error, list, task),
  });
  return {
    training: plan('tasks', tasks, streams.training),
    heldOut: plan('heldOut', heldOut, streams.heldOut),
  };
}

export const configOf = (plan: Collection, number: number): Config =>
  configOfRun(plan, drawRun(plan, number));

export const heldOutRuns = (config: RunSettings): readonly Config[] =>
  Array.from({ length: config.evaluation.runs }, (_, number) => configOf(runPlans(config).heldOut, number));
