/** Finds policies that act alike. */
import { createHash } from 'node:crypto';
import type { Observation } from '../environments/environment.js';
import type { ParameterVector } from '../policies/policy.js';
import { ProgramFault } from '../policies/program/program.js';
import type { EpisodeRecord } from './episode.js';
import { actionsOn, type EvaluationSetup, evaluate } from './evaluation.js';
import { type PlayResult, playSeeds } from './played.js';
import type { BufferEntry } from './replay-buffer.js';

/** Maximum number of recorded observations on which policies are compared. */
const maxObservations = 1000;

/** A policy to compare with; without a score if it isn't evaluated yet. */
export type ComparedPolicy = Pick<BufferEntry, 'iteration' | 'parameters'> & { readonly score?: number };

/**
 * Compares policies by the actions that they choose: first on observations recorded during the warm-up, which is quick,
 * then in episodes that they play. Policies act alike if they agree in both tests; the first isn't enough, because the
 * warm-up visits few states.
 */
export class BehaviorTest {
  readonly #setting: EvaluationSetup;
  readonly #episodes: (readonly Observation[])[] = [];
  #observations = 0;
  readonly #actions = new WeakMap<ParameterVector, Promise<string | undefined>>();
  readonly #played = new WeakMap<
    ParameterVector,
    { readonly key: string; readonly result: Promise<PlayResult> }
  >();
  /** The evaluations of the run by their actions on the recorded observations. */
  readonly #byActions = new Map<string | undefined, ComparedPolicy[]>();
  #indexed = 0;

  /** @param recorded episodes that a resumed run has already recorded */
  constructor(setting: EvaluationSetup, recorded: Iterable<EpisodeRecord>) {
    this.#setting = setting;
    for (const episode of recorded) {
      if (episode.iteration > 0) break;
      this.observe([episode]);
    }
  }

  /** Adds episodes of the warm-up; ignores later ones, so that the test stays the same. */
  observe(episodes: readonly Pick<EpisodeRecord, 'iteration' | 'observations'>[]): void {
    for (const { iteration, observations } of episodes) {
      const left = maxObservations - this.#observations;
      if (iteration > 0 || left <= 0) continue;
      const kept = observations.slice(0, -1).slice(0, left);
      this.#episodes.push(kept);
      this.#observations += kept.length;
    }
  }

  /** Hashes the actions on the recorded observations; undefined if there are none. @throws like `actionsOn` */
  actions(parameters: ParameterVector): Promise<string | undefined> {
    const actions = this.#actions.get(parameters) ?? this.#chosenActions(parameters);
    this.#actions.set(parameters, actions);
    return actions;
  }

  /** Plays one episode per seed; keeps the last result of each policy. @throws like `evaluate` */
  play(parameters: ParameterVector, seeds: readonly number[]): Promise<PlayResult> {
    const key = seeds.join();
    const known = this.#played.get(parameters);
    if (known?.key === key) return known.result;
    const result = playSeeds(this.#setting, parameters, seeds);
    this.#played.set(parameters, { key, result });
    return result;
  }

  /**
   * Makes sure that there are observations on which policies can be told apart quickly. If the warm-up recorded none,
   * the run's first policy plays some episodes, the same ones after each resume. @returns false if there are still none
   */
  async prepare(first: ComparedPolicy | undefined, seeds: readonly number[]): Promise<boolean> {
    if (this.#observations === 0 && first !== undefined) {
      const evaluation = await evaluate({ ...this.#setting, record: 'all' }, first.parameters, seeds).catch(
        ignoreFault,
      );
      this.observe((evaluation?.episodes ?? []).map((episode) => ({ ...episode, iteration: 0 })));
    }
    return this.#observations > 0;
  }

  /**
   * Returns the evaluations whose policies chose the same actions on the recorded observations, oldest first.
   * @param entries all evaluations so far; a later call may only add some
   */
  async findSimilar(
    parameters: ParameterVector,
    entries: readonly ComparedPolicy[],
  ): Promise<readonly ComparedPolicy[]> {
    while (this.#indexed < entries.length) {
      const entry = entries[this.#indexed++]!;
      const actions = await this.actions(entry.parameters).catch(ignoreFault);
      this.#byActions.set(actions, [...(this.#byActions.get(actions) ?? []), entry]);
    }
    return this.#byActions.get(await this.actions(parameters)) ?? [];
  }

  /** Finds the first of `others` that acts like this policy, both on the recorded observations and with these seeds. */
  async findAlike<Other extends ComparedPolicy>(
    parameters: ParameterVector,
    others: readonly Other[],
    seeds: readonly number[],
  ): Promise<Other | undefined> {
    const own = await this.actions(parameters).catch(ignoreFault);
    for (const one of others) {
      if ((await this.actions(one.parameters).catch(ignoreFault)) !== own) continue;
      const result = await this.play(parameters, seeds).catch(ignoreFault);
      if (result === undefined) return undefined;
      if ((await this.play(one.parameters, seeds).catch(ignoreFault))?.actions === result.actions) return one;
    }
    return undefined;
  }

  async #chosenActions(parameters: ParameterVector): Promise<string | undefined> {
    if (this.#observations === 0) return undefined;
    const actions = await actionsOn(this.#setting, parameters, this.#episodes);
    return createHash('sha256').update(JSON.stringify(actions)).digest('base64');
  }
}

/** Returns undefined for a program that fails, which acts like no other; even accepted ones can fail on fresh seeds. */
function ignoreFault(error: unknown): undefined {
  if (!(error instanceof ProgramFault)) throw error;
}
