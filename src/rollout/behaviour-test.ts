/** Finds programs that behave alike. */
import type { Observation } from '../environments/environment.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EpisodeRecord } from './episode.js';
import { actionsOn, type EvaluationSetting } from './evaluation.js';
import { played } from './played.js';
import { vectorKey } from './replay-buffer.js';

/** Maximum number of recorded observations on which programs are compared. */
const mostObservations = 1000;

/**
 * Compares programs by the actions that they choose: first on observations recorded during the warm-up, which is quick,
 * then in episodes of their own. Programs behave alike if they agree in both tests; the first isn't enough, because the
 * warm-up visits few states.
 */
export class BehaviourTest {
  readonly #setting: EvaluationSetting;
  readonly #episodes: (readonly Observation[])[] = [];
  #observations = 0;
  readonly #actions = new Map<string, Promise<string | undefined>>();
  readonly #played = new Map<string, Promise<string>>();

  /** @param recorded episodes that a resumed run has already recorded */
  constructor(setting: EvaluationSetting, recorded: Iterable<EpisodeRecord>) {
    this.#setting = setting;
    for (const episode of recorded) {
      if (episode.iteration > 0) break;
      this.observe([episode]);
    }
  }

  /** Adds episodes of the warm-up; ignores later ones, so that the test stays the same. */
  observe(episodes: readonly EpisodeRecord[]): void {
    for (const { iteration, observations } of episodes) {
      const left = mostObservations - this.#observations;
      if (iteration > 0 || left <= 0) continue;
      this.#episodes.push(observations.slice(0, Math.min(left, observations.length - 1)));
      this.#observations += observations.length - 1;
    }
  }

  /** The program's actions on the warm-up's observations, as JSON; undefined if there are none. @throws ProgramFault */
  actions(parameters: ParameterVector): Promise<string | undefined> {
    const key = vectorKey(parameters);
    const actions = this.#actions.get(key) ?? this.#chosen(parameters);
    this.#actions.set(key, actions);
    return actions;
  }

  /** A hash of the actions that the program takes in episodes with these seeds. @throws ProgramFault */
  playing(parameters: ParameterVector, seeds: readonly number[]): Promise<string> {
    const key = `${vectorKey(parameters)} ${seeds}`;
    const digest =
      this.#played.get(key) ?? played(this.#setting, parameters, seeds).then(({ actions }) => actions);
    this.#played.set(key, digest);
    return digest;
  }

  async #chosen(parameters: ParameterVector): Promise<string | undefined> {
    if (this.#observations === 0) return undefined;
    return JSON.stringify(await actionsOn(this.#setting, parameters, this.#episodes));
  }
}
