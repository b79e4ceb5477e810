/** Finds programs that behave alike. */
import type { Observation } from '../environments/environment.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EpisodeRecord } from './episode.js';
import { actionsOn, type EvaluationSetting } from './evaluation.js';
import { vectorKey } from './replay-buffer.js';

/** Number of recorded observations on which programs are compared, at most. */
const mostObservations = 1000;

/** Compares programs by the actions that they choose on the observations of the warm-up's recorded episodes. */
export class BehaviourTest {
  readonly #setting: EvaluationSetting;
  readonly #episodes: (readonly Observation[])[] = [];
  #observations = 0;
  readonly #actions = new Map<string, Promise<string | undefined>>();

  /** @param recorded episodes of a resumed run */
  constructor(setting: EvaluationSetting, recorded: Iterable<EpisodeRecord>) {
    this.#setting = setting;
    for (const episode of recorded) {
      if (episode.iteration > 0) break;
      this.observe([episode]);
    }
  }

  /** Adds episodes; only those of the warm-up count, so that the test stays the same. */
  observe(episodes: readonly EpisodeRecord[]): void {
    for (const { iteration, observations } of episodes) {
      const left = mostObservations - this.#observations;
      if (iteration > 0 || left <= 0) continue;
      this.#episodes.push(observations.slice(0, Math.min(left, observations.length - 1)));
      this.#observations += observations.length - 1;
    }
  }

  /** The program's actions on the observations; undefined if there are none. @throws ProgramFault */
  actions(parameters: ParameterVector): Promise<string | undefined> {
    const key = vectorKey(parameters);
    const actions = this.#actions.get(key) ?? this.#chosen(parameters);
    this.#actions.set(key, actions);
    return actions;
  }

  async #chosen(parameters: ParameterVector): Promise<string | undefined> {
    if (this.#observations === 0) return undefined;
    return JSON.stringify(await actionsOn(this.#setting, parameters, this.#episodes));
  }
}
