/**
 * Interface of the component that trains a run's model during the search. It must be registered: this half of
 * the package trains nothing.
 */
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import type { AdaptConfig } from '../../config/learning/adapt.js';
import { languageModelOf } from '../../config/model.js';
import type { LocalConfig } from '../../models/local/settings.js';
import type { Adaptation } from '../../runs/events.js';
import type { ObservedIteration } from './observed.js';

/** Config of a run that trains its model. */
export interface AdaptingConfig extends Config {
  readonly adapt: AdaptConfig;
  readonly model: LocalConfig;
}

/**
 * The config as the learner sees it, whose `model` is the trained one (possibly a portfolio member);
 * undefined if nothing is trained.
 */
export function adaptingConfig(config: Config): AdaptingConfig | undefined {
  const { adapt } = config;
  const model = languageModelOf(config.model);
  return adapt !== undefined && model?.provider === 'local' ? { ...config, adapt, model } : undefined;
}

/** Trains on the candidates of a run. Its state is a function of the run's seed and log alone. */
export interface Learner {
  /** The last iteration that it has observed. A resumed run passes it the later ones. */
  readonly iteration: number;
  /** Directory of the current adapter; undefined before the first update. */
  readonly adapter: string | undefined;
  /**
   * Processes the next iteration, before that is recorded.
   * @returns what an update did; undefined if none was due
   * @throws UserError if training diverges or memory runs out
   */
  observe(observed: ObservedIteration): Promise<Adaptation | undefined>;
  close(): Promise<void>;
}

export interface Learning {
  /**
   * The modules that the adapter will change, as suffixes of their paths.
   * @throws UserError if the model can't be trained
   */
  modules(config: AdaptingConfig): readonly string[];
  /**
   * @param run directory of the run, where the learner stores the adapter and its state
   * @param completed the last complete iteration of the run; state of any later one is discarded
   */
  open(config: AdaptingConfig, run: string, completed: number): Promise<Learner>;
}

let registered: (() => Promise<Learning>) | undefined;

/** Registers the training half. Called once by each package entry point that includes it. */
export function registerLearner(load: () => Promise<Learning>): void {
  registered = load;
}

/** @throws UserError if the training half isn't part of the program */
export function learningAtHand(): Promise<Learning> {
  if (registered !== undefined) return registered();
  throw new UserError({
    field: 'adapt',
    message: 'no learner is registered',
    remedy: 'play this run with `policyloop run`, or with `run()` of the package',
  });
}
