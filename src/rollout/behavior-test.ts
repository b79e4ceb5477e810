/** Finds policies that act alike. */
import { createHash } from 'node:crypto';
import type { Observation } from '../environments/environment.js';
import type { ParameterVector } from '../policies/policy.js';
import { ProgramFault } from '../policies/program/program.js';
import type { EpisodeRecord } from './episode.js';
import { actionsOn, type EvaluationSetup, evaluate } from './evaluation.js';
import { type EpisodeResults, playSeeds } from './played.js';
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
  readonly #setup: EvaluationSetup;
  readonly #episodes: (readonly Observation[])[] = [];
  #observationCount = 0;
  readonly #hashes = new WeakMap<ParameterVector, Promise<string | undefined>>();
  readonly #results = new WeakMap<
    ParameterVector,
    { readonly key: string; readonly result: Promise<EpisodeResults> }
  >();
  /** The evaluations of the run, by the hash of their actions on the recorded observations. */
  readonly #byActions = new Map<string | undefined, ComparedPolicy[]>();
  #indexedCount = 0;

  /** @param recorded episodes that a resumed run has already recorded */
  constructor(setup: EvaluationSetup, recorded: Iterable<EpisodeRecord>) {
    this.#setup = setup;
    for (const episode of recorded) {
      if (episode.iteration > 0) break;
      this.observe([episode]);
    }
  }

  /** Adds episodes of the warm-up; ignores later ones, so that the test stays the same. */
  observe(episodes: readonly Pick<EpisodeRecord, 'iteration' | 'observations'>[]): void {
    for (const { iteration, observations } of episodes) {
      const remaining = maxObservations - this.#observationCount;
      if (iteration > 0 || remaining <= 0) continue;
      const newObservations = observations.slice(0, -1).slice(0, remaining);
      this.#episodes.push(newObservations);
      this.#observationCount += newObservations.length;
    }
  }

  /** Hashes the actions on the recorded observations; undefined if there are none. @throws like `actionsOn` */
  actionHash(parameters: ParameterVector): Promise<string | undefined> {
    const actions = this.#hashes.get(parameters) ?? this.#hashActions(parameters);
    this.#hashes.set(parameters, actions);
    return actions;
  }

  /** Plays one episode per seed; keeps the last result of each policy. @throws like `evaluate` */
  play(parameters: ParameterVector, seeds: readonly number[]): Promise<EpisodeResults> {
    const key = seeds.join();
    const known = this.#results.get(parameters);
    if (known?.key === key) return known.result;
    const result = playSeeds(this.#setup, parameters, seeds);
    this.#results.set(parameters, { key, result });
    return result;
  }

  /**
   * Makes sure that there are observations on which policies can be told apart quickly. If the warm-up recorded none,
   * the run's first policy plays some episodes, the same ones after each resume. @returns false if there are still none
   */
  async prepare(first: ComparedPolicy | undefined, seeds: readonly number[]): Promise<boolean> {
    if (this.#observationCount === 0 && first !== undefined) {
      const evaluation = await evaluate({ ...this.#setup, record: 'all' }, first.parameters, seeds).catch(
        ignoreFault,
      );
      this.observe((evaluation?.episodes ?? []).map((episode) => ({ ...episode, iteration: 0 })));
    }
    return this.#observationCount > 0;
  }

  /**
   * Returns the evaluations whose policies chose the same actions on the recorded observations, oldest first.
   * @param entries all evaluations so far; a later call may only add some
   */
  async findSimilar(
    parameters: ParameterVector,
    entries: readonly ComparedPolicy[],
  ): Promise<readonly ComparedPolicy[]> {
    while (this.#indexedCount < entries.length) {
      const entry = entries[this.#indexedCount++]!;
      const actions = await this.actionHash(entry.parameters).catch(ignoreFault);
      this.#byActions.set(actions, [...(this.#byActions.get(actions) ?? []), entry]);
    }
    return this.#byActions.get(await this.actionHash(parameters)) ?? [];
  }

  /** Finds the first of `others` that acts like this policy, both on the recorded observations and with these seeds. */
  async findAlike<Other extends ComparedPolicy>(
    parameters: ParameterVector,
    others: readonly Other[],
    seeds: readonly number[],
  ): Promise<Other | undefined> {
    const ownHash = await this.actionHash(parameters).catch(ignoreFault);
    for (const other of others) {
      if ((await this.actionHash(other.parameters).catch(ignoreFault)) !== ownHash) continue;
      const result = await this.play(parameters, seeds).catch(ignoreFault);
      if (result === undefined) return undefined;
      if ((await this.play(other.parameters, seeds).catch(ignoreFault))?.actionHash === result.actionHash)
        return other;
    }
    return undefined;
  }

  async #hashActions(parameters: ParameterVector): Promise<string | undefined> {
    if (this.#observationCount === 0) return undefined;
    const actions = await actionsOn(this.#setup, parameters, this.#episodes);
    return createHash('sha256').update(JSON.stringify(actions)).digest('base64');
  }
}

/** Returns undefined for a program that fails, which acts like no other; even accepted ones can fail on fresh seeds. */
function ignoreFault(error: unknown): undefined {
  if (!(error instanceof ProgramFault)) throw error;
}
