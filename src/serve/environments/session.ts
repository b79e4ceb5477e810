/** One client's environment, with OpenEnv's reset, step and state, independent of the transport. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { messageOf, UserError } from '../../base/errors.js';
import type { Action, Environment, Observation, Step } from '../../environments/environment.js';
import { invalidAction, isValidAction } from '../../environments/limited-environment.js';
import { type Fault, Refusal, validated } from './refusal.js';

/** Result of a reset or a step; the reward is null after a reset. */
export interface Observed {
  readonly observation: Readonly<Record<string, unknown>>;
  readonly reward: number | null;
  readonly done: boolean;
}

/** OpenEnv's state, with additional fields for trainers. */
export interface SessionState {
  readonly episode_id: string | null;
  /** Number of steps in the current episode. */
  readonly step_count: number;
  readonly environment: string;
  /** Seed passed to the reset; null if there was none. */
  readonly seed: number | null;
  /** Sum of the episode's rewards so far. */
  readonly episode_return: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
}

/** Maximum number of characters in a text action. */
const longestAction = 10_000;

export const seedSchema = z.int('must be a whole number from 0 to 2^53 - 1').min(0);

const resetSchema = z.strictObject({
  seed: seedSchema.nullish(),
  episode_id: z.string().max(255).nullish(),
});

const actionSchema = z.strictObject({
  action: z.union([z.number(), z.array(z.number()), z.string().max(longestAction)], {
    error: 'must be a number, a list of numbers or a string',
  }),
  // Ignored; OpenEnv's Python client adds it to every action.
  metadata: z.record(z.string(), z.unknown()).optional(),
});

export type ActionData = z.output<typeof actionSchema>;

export class Session {
  readonly #environment: Environment;
  readonly #fresh: SessionState;
  #state: SessionState;
  /** Totals over all episodes. */
  steps = 0;
  episodes = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#fresh = freshState(environment.id);
    this.#state = this.#fresh;
  }

  get state(): SessionState {
    return this.#state;
  }

  /**
   * Starts an episode. The seed determines the episode; without a seed, the random stream continues.
   * @param data `{seed?, episode_id?}`
   * @throws Refusal if the data is invalid, or the environment fails
   */
  reset(data: unknown): Observed {
    const { seed, episode_id } = validated(resetSchema, data);
    this.#state = this.#fresh;
    const observation = tried(() => this.#environment.reset(seed ?? undefined));
    this.#state = { ...this.#fresh, episode_id: episode_id ?? randomUUID(), seed: seed ?? null };
    this.episodes++;
    return this.#observed(observation, null);
  }

  /**
   * Takes a step. A rejected action doesn't change the episode.
   * @param data `{action}`
   * @throws Refusal if the action is invalid, or the environment fails
   */
  step(data: unknown): Observed {
    const environment = this.#environment;
    const { action } = checkedAction(data, environment);
    const { observation, reward, terminated, truncated } = tried((): Step => environment.step(action));
    this.steps++;
    const { step_count, episode_return } = this.#state;
    this.#state = {
      ...this.#state,
      step_count: step_count + 1,
      episode_return: episode_return + reward,
      ...{ terminated, truncated },
    };
    return this.#observed(observation, reward);
  }

  close(): void {
    this.#environment.close?.();
  }

  #observed(observation: Observation, reward: number | null): Observed {
    const { terminated, truncated } = this.#state;
    const { info, objective, observationSpace } = this.#environment;
    const field = observationField(observationSpace.kind);
    return {
      observation: {
        [field]: observation,
        ...(info && infoFields(this.#environment)),
        ...(objective && { objective: this.#environment.objective!() ?? null }),
        ...{ terminated, truncated },
      },
      reward,
      done: terminated || truncated,
    };
  }
}

/** @throws Refusal if the environment throws */
export function tried<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Refusal('EXECUTION_ERROR', messageOf(error));
  }
}

export function freshState(environment: string): SessionState {
  return {
    ...{ episode_id: null, step_count: 0, environment, seed: null, episode_return: 0 },
    ...{ terminated: false, truncated: false },
  };
}

/** The field of a message that contains the observation itself. */
export function observationField(kind: Environment['observationSpace']['kind']): 'state' | 'vector' | 'text' {
  if (kind === 'discrete') return 'state';
  return kind === 'text' ? 'text' : 'vector';
}

/** @throws Refusal for an invalid action */
export function checkedAction(data: unknown, spec: Pick<Environment, 'actionSpace' | 'id'>): ActionData {
  const given = validated(actionSchema, data);
  if (isValidAction(given.action, spec.actionSpace)) return given;
  throw invalid(given.action, spec, ['action']);
}

/** @param path place of the action in the request */
export function invalid(
  action: Action,
  { actionSpace, id }: Pick<Environment, 'actionSpace' | 'id'>,
  path: Fault['path'],
): Refusal {
  const { problems } = new UserError(invalidAction(action, actionSpace, id).problems);
  const faults = problems.map(({ message, alternatives = [], remedy }): Fault => {
    const expected = alternatives.length === 0 ? '' : `; expected: ${alternatives.join(', ')}`;
    return { path, message: `${message}${expected}${remedy === undefined ? '' : `; ${remedy}`}` };
  });
  return new Refusal('VALIDATION_ERROR', '', faults);
}

function infoFields(environment: Environment) {
  const { score, maxScore, won, lost, moves, admissible } = environment.info!();
  return { score, max_score: maxScore, won, lost, moves, admissible };
}
