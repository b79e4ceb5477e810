import type { RandomGenerator } from '../../random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { chance, type Draw, integerBetween, logUniform, permutation } from './distributions.js';
import { drawUnits } from './landscape.js';

/**
 * A series of questions (by default, 6 to 64), each with a few possible answers. Either all answers together earn a
 * reward at the end (S. Kauffman's NK model: an answer's contribution depends on up to three others), or each correct
 * answer earns 1 and the first wrong one ends the episode. Observation: a number that identifies the question.
 */
export const drawChoices: Draw<{
  readonly states?: number | undefined;
  readonly actions?: number | undefined;
}> = (random, options) => {
  const states = options.states ?? Math.floor(logUniform(random, 6, 65));
  const actions = options.actions ?? integerBetween(random, 2, 4);
  const order = permutation(random, states);
  const noise = chance(random, 0.3) ? logUniform(random, 0.02, 0.5) : 0;
  const chain = chance(random, 0.35);
  const rules = chain ? drawChain(random, states, actions) : drawWorth(random, states, actions);
  return { task: new Questions(actions, order, noise, rules), maxSteps: states };
};

interface Rules {
  /** Reward for the answer to question `asked` (0-based), and whether it ends the episode. */
  judge(answers: ArrayLike<number>, asked: number): Pick<TaskStep, 'reward' | 'terminated'>;
}

/** Each question has one correct answer or, in some draws, two. */
function drawChain(random: RandomGenerator, states: number, actions: number): Rules {
  const share = actions > 2 && chance(random, 0.4) ? 2 : 1;
  const right = Array.from({ length: states }, () => permutation(random, actions).slice(0, share));
  return {
    judge(answers, asked) {
      const good = right[asked]!.includes(answers[asked]!);
      return { reward: good ? 1 : 0, terminated: !good || asked === states - 1 };
    },
  };
}

function drawWorth(random: RandomGenerator, states: number, actions: number): Rules {
  const others = Math.min(states - 1, integerBetween(random, 0, 3));
  const { offset, scale } = drawUnits(random);
  const parts = Array.from({ length: states }, (_, own) => ({
    places: [
      own,
      ...permutation(random, states)
        .filter((place) => place !== own)
        .slice(0, others),
    ],
    worth: Float64Array.from({ length: actions ** (others + 1) }, () => random.normal()),
  }));
  const worthOf = (answers: ArrayLike<number>) => {
    let sum = 0;
    for (const { places, worth } of parts) {
      let index = 0;
      for (const place of places) index = index * actions + answers[place]!;
      sum += worth[index]!;
    }
    return offset + (scale * sum) / Math.sqrt(states);
  };
  return {
    judge: (answers, asked) =>
      asked === states - 1
        ? { reward: worthOf(answers), terminated: true }
        : { reward: 0, terminated: false },
  };
}

class Questions implements Task<number> {
  readonly observationSpace: DiscreteSpace;
  readonly actionSpace: DiscreteSpace;
  readonly #order: readonly number[];
  readonly #noise: number;
  readonly #rules: Rules;
  readonly #answers: Int32Array;
  #asked = 0;
  #random!: RandomGenerator;

  /**
   * @param order the observation that identifies each question
   * @param noise expected number of answers in a full episode that are replaced with random ones
   */
  constructor(actions: number, order: readonly number[], noise: number, rules: Rules) {
    this.observationSpace = { kind: 'discrete', n: order.length };
    this.actionSpace = { kind: 'discrete', n: actions };
    this.#order = order;
    this.#noise = noise / order.length;
    this.#rules = rules;
    this.#answers = new Int32Array(order.length);
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#asked = 0;
    return this.#order[0]!;
  }

  step(action: number): TaskStep {
    const slips = this.#noise > 0 && chance(this.#random, this.#noise);
    this.#answers[this.#asked] = slips ? this.#random.integers(0, this.actionSpace.n) : action;
    const judged = this.#rules.judge(this.#answers, this.#asked);
    if (!judged.terminated) this.#asked++;
    return { observation: this.#order[this.#asked]!, ...judged };
  }
}
