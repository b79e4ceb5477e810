/** What trains the model of a run while it searches. It is handed in: this half of the program trains nothing. */
import { UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import type { AdaptConfig } from '../../config/learning/adapt.js';
import { languageModelOf } from '../../config/model.js';
import type { LocalConfig } from '../../models/local/settings.js';
import type { Adaptation } from '../../runs/events.js';
import type { ObservedIteration } from './observed.js';

/** A run that trains its model. */
export interface AdaptingConfig extends Config {
  readonly adapt: AdaptConfig;
  readonly model: LocalConfig;
}

/** The config for the learner, whose model is the one that is trained: a member of a portfolio, too. */
export function adaptingConfig(config: Config): AdaptingConfig | undefined {
  const { adapt } = config;
  const model = languageModelOf(config.model);
  return adapt !== undefined && model?.provider === 'local' ? { ...config, adapt, model } : undefined;
}

/** Learns from the candidates of a run. What it has learnt follows from the run's seed and log alone. */
export interface Learner {
  /** The last iteration that it knows. A run that goes on tells it of those after. */
  readonly iteration: number;
  /** Directory of the adapter as it is; undefined before the first update. */
  readonly adapter: string | undefined;
  /**
   * Takes note of the next iteration, before that is on record.
   * @returns what an update did; undefined where none was due
   * @throws UserError when the training diverges or memory runs out
   */
  observe(observed: ObservedIteration): Promise<Adaptation | undefined>;
  close(): Promise<void>;
}

export interface Learning {
  /**
   * The modules, by the last parts of their paths, that the adapter will change.
   * @throws UserError where the model can't be trained
   */
  modules(config: AdaptingConfig): readonly string[];
  /**
   * @param run its directory, for the adapter and what the learner keeps
   * @param completed the last complete iteration of the run: nothing of a later one counts
   */
  open(config: AdaptingConfig, run: string, completed: number): Promise<Learner>;
}

let handedIn: (() => Promise<Learning>) | undefined;

/** Called once by each entry of the package that has both halves. */
export function handInLearning(load: () => Promise<Learning>): void {
  handedIn = load;
}

/** @throws UserError in a program that has this half alone */
export function learningAtHand(): Promise<Learning> {
  if (handedIn !== undefined) return handedIn();
  throw new UserError({
    field: 'adapt',
    message: 'nothing that trains is at hand here',
    remedy: 'play this run by `policyloop run`, or by `run()` of the package',
  });
}
