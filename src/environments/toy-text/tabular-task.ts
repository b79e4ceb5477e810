import type { RandomGenerator } from '../../base/random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import type { Frame } from '../frame.js';

export interface TabularOutcome {
  readonly probability: number;
  readonly state: number;
  readonly reward: number;
  readonly terminated: boolean;
}

/** A finite Markov decision process. */
interface TabularModel {
  readonly stateCount: number;
  readonly actionCount: number;
  /** Probability that an episode starts in each state. */
  readonly startProbabilities: readonly number[];
  /** The outcomes of an action in a state; their order matters when a random number selects one. */
  outcomes(state: number, action: number): readonly TabularOutcome[];
  draw(state: number): Frame;
}

/** Returns the initial distribution for a fixed start state. */
export const startDistribution = (start: number, stateCount: number): readonly number[] =>
  Array.from({ length: stateCount }, (_, state) => (state === start ? 1 : 0));

/** A task defined by a table. Each reset and step consumes one random number, even if the outcome is certain. */
export class TabularTask implements Task<number> {
  readonly observationSpace: DiscreteSpace;
  readonly actionSpace: DiscreteSpace;
  readonly #model: TabularModel;
  /** The outcomes of each action in each state, at `state · actionCount + action`. */
  readonly #outcomes: readonly (readonly TabularOutcome[])[];
  readonly #probabilities: readonly (readonly number[])[];
  #state = 0;
  #random!: RandomGenerator;

  constructor(model: TabularModel) {
    this.observationSpace = { kind: 'discrete', n: model.stateCount };
    this.actionSpace = { kind: 'discrete', n: model.actionCount };
    this.#model = model;
    this.#outcomes = Array.from({ length: model.stateCount * model.actionCount }, (_, i) =>
      model.outcomes(Math.floor(i / model.actionCount), i % model.actionCount),
    );
    this.#probabilities = this.#outcomes.map((outcomes) => outcomes.map(({ probability }) => probability));
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#state = random.categorical(this.#model.startProbabilities);
    return this.#state;
  }

  step(action: number): TaskStep {
    const index = this.#state * this.actionSpace.n + action;
    const outcomeIndex = this.#random.categorical(this.#probabilities[index]!);
    const { state, reward, terminated } = this.#outcomes[index]![outcomeIndex]!;
    this.#state = state;
    return { observation: state, reward, terminated };
  }

  frame(): Frame {
    return this.#model.draw(this.#state);
  }
}
