import type { RandomGenerator } from '../../random/generator.js';
import type { DiscreteSpace, Observation } from '../environment.js';
import type { Frame } from '../frame.js';
import type { OpenStep, Task } from '../task.js';

/** What may follow when an action is taken in a state. */
export interface Outcome {
  readonly probability: number;
  readonly state: number;
  readonly reward: number;
  readonly terminated: boolean;
}

/** A finite Markov decision process. */
export interface TabularModel {
  readonly states: number;
  readonly actions: number;
  /** Probability of each state at the start; `states` numbers. */
  readonly initial: readonly number[];
  /** The outcomes of an action in a state; their order is that in which the random number is spent. */
  outcomes(state: number, action: number): readonly Outcome[];
  draw(state: number): Frame;
}

/** A task that is nothing but a table. Each reset and each step spends one random number, certain outcomes included. */
export class TabularTask implements Task<number> {
  readonly observationSpace: DiscreteSpace;
  readonly actionSpace: DiscreteSpace;
  readonly #model: TabularModel;
  readonly #draws: readonly Draw[];
  #state = 0;
  #random!: RandomGenerator;

  constructor(model: TabularModel) {
    this.observationSpace = { kind: 'discrete', n: model.states };
    this.actionSpace = { kind: 'discrete', n: model.actions };
    this.#model = model;
    this.#draws = Array.from({ length: model.states * model.actions }, (_, i) =>
      toDraw(model.outcomes(Math.floor(i / model.actions), i % model.actions)),
    );
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#state = random.categorical(this.#model.initial);
    return this.#state;
  }

  step(action: number): OpenStep {
    const { probabilities, outcomes } = this.#draws[this.#state * this.actionSpace.n + action]!;
    const { state, reward, terminated } = outcomes[this.#random.categorical(probabilities)]!;
    this.#state = state;
    return { observation: state, reward, terminated, truncated: false };
  }

  frame(): Frame {
    return this.#model.draw(this.#state);
  }
}

interface Draw {
  readonly probabilities: readonly number[];
  readonly outcomes: readonly Outcome[];
}

function toDraw(outcomes: readonly Outcome[]): Draw {
  return { probabilities: outcomes.map((outcome) => outcome.probability), outcomes };
}
