/** Environments of one kind that are reset and stepped together, with one message for all of them. */
import { z } from 'zod';
import { messageOf } from '../../base/errors.js';
import type { Action, Environment, Observation } from '../../environments/environment.js';
import { isValidAction } from '../../environments/limited-environment.js';
import { plural } from '../../format/numbers.js';
import { Refusal, validated } from './refusal.js';
import { invalid, seedSchema, tried } from './session.js';

/** Maximum number of environments in a batch. */
export const mostInBatch = 1024;

/** Results of all environments, in order. */
export interface BatchObserved {
  readonly observations: readonly Observation[];
  readonly rewards: readonly number[];
  readonly terminated: readonly boolean[];
  readonly truncated: readonly boolean[];
  /** With `same-step`, if an episode ended: the last observation of each ended episode, and null for the others. */
  readonly final_observations?: readonly (Observation | null)[];
}

const size = `must have 1 to ${mostInBatch} seeds, one per environment; null continues an environment's random stream`;

const resetSchema = z.strictObject({
  seeds: z.array(seedSchema.nullable(), size).min(1, size).max(mostInBatch, size),
  /** When the next episode of an environment starts, as in Gymnasium's `AutoresetMode`. */
  autoreset: z.enum(['next-step', 'same-step', 'disabled']).default('next-step'),
});

const stepSchema = z.strictObject({
  actions: z.array(z.unknown(), 'must be a list of actions, one per environment'),
});

export class Batch {
  readonly #make: () => Promise<Environment>;
  readonly #environments: Environment[] = [];
  #autoreset: z.output<typeof resetSchema>['autoreset'] = 'next-step';
  /** Whether each episode has ended; undefined if the batch has to be reset. */
  #ended: readonly boolean[] | undefined;
  /** Totals over all environments. */
  episodes = 0;
  steps = 0;

  constructor(make: () => Promise<Environment>) {
    this.#make = make;
  }

  /**
   * Starts an episode in each environment. The number of seeds sets the number of environments.
   * @param data `{seeds, autoreset?}`
   * @throws Refusal if the data is invalid, or an environment can't be created or reset
   */
  async reset(data: unknown): Promise<BatchObserved> {
    const { autoreset, seeds } = validated(resetSchema, data);
    this.#ended = undefined;
    this.#autoreset = autoreset;
    for (const surplus of this.#environments.splice(seeds.length)) surplus.close?.();
    try {
      while (this.#environments.length < seeds.length) this.#environments.push(await this.#make());
    } catch (error) {
      const place = `environment ${this.#environments.length + 1} of ${seeds.length}`;
      // Release memory, which may have run out.
      this.close();
      throw new Refusal('EXECUTION_ERROR', `${place}: ${messageOf(error)}`);
    }
    const observations = tried(() => seeds.map((seed, i) => this.#reset(i, seed ?? undefined)));
    const none = seeds.map(() => false);
    this.#ended = none;
    return { observations, rewards: seeds.map(() => 0), terminated: none, truncated: none };
  }

  /**
   * Takes a step in each environment, or resets it if its episode has ended. If one action is invalid, none moves.
   * @param data `{actions}`
   * @throws Refusal if an action is invalid, a reset is needed, or an environment fails
   */
  step(data: unknown): BatchObserved {
    const { actions } = validated(stepSchema, data);
    const before = this.#checked(actions);
    // If an environment fails, others may already have moved, so all need a reset.
    this.#ended = undefined;
    return tried(() => {
      const steps = this.#environments.map((environment, i) =>
        before[i]
          ? { observation: this.#reset(i), reward: 0, terminated: false, truncated: false }
          : environment.step(actions[i] as Action),
      );
      this.steps += before.filter((ended) => !ended).length;
      const ended = steps.map(({ terminated, truncated }) => terminated || truncated);
      const last = steps.map(({ observation }) => observation);
      const resetsNow = this.#autoreset === 'same-step' && ended.includes(true);
      const observations = resetsNow ? last.map((own, i) => (ended[i] ? this.#reset(i) : own)) : last;
      this.#ended = resetsNow ? ended.map(() => false) : ended;
      return {
        observations,
        rewards: steps.map(({ reward }) => reward),
        terminated: steps.map(({ terminated }) => terminated),
        truncated: steps.map(({ truncated }) => truncated),
        ...(resetsNow && { final_observations: last.map((own, i) => (ended[i] ? own : null)) }),
      };
    });
  }

  close(): void {
    this.#ended = undefined;
    for (const environment of this.#environments.splice(0)) environment.close?.();
  }

  #reset(at: number, seed?: number): Observation {
    this.episodes++;
    return this.#environments[at]!.reset(seed);
  }

  /** @returns whether each episode has ended. @throws Refusal if an action is invalid, or a reset is needed */
  #checked(actions: readonly unknown[]): readonly boolean[] {
    const ended = this.#ended;
    if (ended === undefined) throw new Refusal('EXECUTION_ERROR', 'reset the environments first');
    const { length } = ended;
    if (actions.length !== length)
      throw new Refusal('VALIDATION_ERROR', '', [
        {
          path: ['actions'],
          message: `has ${plural(actions.length, 'action')} for ${plural(length, 'environment')}`,
        },
      ]);
    const over = this.#autoreset === 'disabled' ? ended.indexOf(true) : -1;
    if (over >= 0)
      throw new Refusal(
        'EXECUTION_ERROR',
        `the episode of environment ${over} has ended; reset the environments`,
      );
    for (const [i, environment] of this.#environments.entries())
      if (!ended[i] && !isValidAction(actions[i] as Action, environment.actionSpace))
        throw invalid(actions[i] as Action, environment, ['actions', i]);
    return ended;
  }
}
