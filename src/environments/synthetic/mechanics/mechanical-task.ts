import type { RandomGenerator } from '../../../random/generator.js';
import {
  type Action,
  type LinearHint,
  type Observation,
  type Space,
  symmetricBox,
  type Task,
  type TaskStep,
} from '../../environment.js';
import { type Actuators, actionSpace, applyAction } from '../actuators.js';
import type { Judge } from '../controlled-task.js';
import {
  chance,
  drawSolutionScale,
  logUniform,
  permutation,
  randomSign,
  rotation,
} from '../distributions.js';
import type { Plant } from '../plant.js';

/** The parts of a mechanical task: dynamics, initial states, observations and rewards. */
export interface MechanicalParts {
  readonly plant: Plant;
  readonly actuators: Actuators;
  /** Standard deviation of the noise on each step's push, relative to the push. */
  readonly noise: number;
  /** Sets the initial state of an episode. @param state filled with zeros */
  start(state: Float64Array, random: RandomGenerator): void;
  /** Measurements, with values of order 1. */
  measure(state: Float64Array): readonly number[];
  readonly sensing: (measured: readonly number[]) => number[];
  readonly judge: Judge;
}

export class MechanicalTask implements Task {
  readonly observationSpace: Space;
  readonly actionSpace: Space;
  readonly #parts: MechanicalParts;
  readonly #state: Float64Array;
  readonly #push: Float64Array;
  #random!: RandomGenerator;

  constructor(parts: MechanicalParts) {
    this.#parts = parts;
    this.#state = new Float64Array(parts.plant.dimension);
    this.#push = new Float64Array(parts.plant.dimension);
    this.observationSpace = symmetricBox(parts.measure(this.#state).length);
    this.actionSpace = actionSpace(parts.actuators);
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#state.fill(0);
    this.#parts.start(this.#state, random);
    return this.#observe();
  }

  step(action: Action): TaskStep {
    const { actuators, judge, noise, plant } = this.#parts;
    const effort = applyAction(actuators, action, this.#push);
    if (noise > 0) {
      const factor = 1 + this.#random.normal(0, noise);
      for (const coordinate of plant.driven) this.#push[coordinate]! *= factor;
    }
    plant.advance(this.#state, this.#push);
    return { observation: this.#observe(), ...judge(this.#state, effort) };
  }

  #observe(): number[] {
    return this.#parts.sensing(this.#parts.measure(this.#state));
  }
}

/** Draws a motor for each driven coordinate; more than two have continuous actions. @param strengths sizes of pushes */
export function drawMotors(
  random: RandomGenerator,
  plant: Plant,
  strengths: number | readonly number[],
): Actuators {
  const { dimension: n, driven } = plant;
  const strengthOf = (i: number) => (typeof strengths === 'number' ? strengths : strengths[i]!);
  const kind = driven.length > 2 || chance(random, 0.5) ? 'continuous' : 'discrete';
  const bound = random.choice([0.4, 1, 1, 1, 2, 3]);
  const countsExcess = chance(random, 0.3);
  const sides = driven.map(() => randomSign(random));
  const rests = chance(random, 0.3) ? 1 : 0;
  const count = kind === 'continuous' ? driven.length : 2 * driven.length + rests;
  const pushes = new Float64Array(count * n);
  for (const [i, coordinate] of driven.entries()) {
    const push = sides[i]! * strengthOf(i);
    if (kind === 'continuous') pushes[i * n + coordinate] = push;
    else {
      pushes[2 * i * n + coordinate] = push;
      pushes[(2 * i + 1) * n + coordinate] = -push;
    }
  }
  return { kind, count, bound, pushes, countsExcess };
}

/** With weights at their bound, a measurement of 1 / `steepness` yields an action at its bound. */
const steepness = 2;

/**
 * Draws the mapping from measurements to observations. Measurements are scaled so that weights of a drawn size solve
 * the task, and may also be reordered, mixed or offset.
 */
export function drawSensing(
  random: RandomGenerator,
  count: number,
  { kind, bound }: Actuators,
  { high }: LinearHint,
): MechanicalParts['sensing'] {
  const natural = kind === 'continuous' ? (steepness * bound) / high : 1;
  const scale = natural / drawSolutionScale(random, kind);
  const factors = Array.from({ length: count }, () => scale * logUniform(random, 0.4, 2.5));
  const order = chance(random, 0.5) ? permutation(random, count) : factors.map((_, i) => i);
  const offset = chance(random, 0.1) ? factors.map((factor) => factor * random.uniform(-0.3, 0.3)) : [];
  const mixing = chance(random, 0.15) ? rotation(random, count) : undefined;
  return (measured) =>
    factors.map((factor, i) => {
      let value = 0;
      if (mixing === undefined) value = measured[order[i]!]!;
      else for (let j = 0; j < count; j++) value += mixing[i * count + j]! * measured[j]!;
      return Math.fround(factor * value + (offset[i] ?? 0));
    });
}

/** Gives motors a dead zone or a lag in a third of the draws with continuous actions. */
export function drawImperfection(random: RandomGenerator, task: Task): Task {
  const [kind, size] = [random.random(), logUniform(random, 0.02, 0.3)];
  const { actionSpace } = task;
  if (actionSpace.kind !== 'box' || kind > 1 / 3) return task;
  const bound = actionSpace.high[0]!;
  return chance(random, 0.5) ? deadened(task, size * bound) : lagging(task, 0.2 + 2 * size);
}

/** Action components within ±`width` count as 0; larger ones are reduced by `width`. */
export function deadened(task: Task, width: number): Task {
  const felt = (value: number) => Math.sign(value) * Math.max(0, Math.abs(value) - width);
  return acting(task, { begin: () => undefined, act: (action) => (action as readonly number[]).map(felt) });
}

/** Motors start at 0 and cover the share `rate` of the remaining distance to the action at each step. */
export function lagging(task: Task, rate: number): Task {
  let at: number[] = [];
  return acting(task, {
    begin: () => {
      at = [];
    },
    act: (action) => {
      at = (action as readonly number[]).map((wanted, i) => (at[i] ?? 0) + rate * (wanted - (at[i] ?? 0)));
      return at;
    },
  });
}

/** Executes the action from `steps` steps ago or, if there is none yet, the first action. */
export function delayed(task: Task, steps: number): Task {
  let waiting: Action[] = [];
  return acting(task, {
    begin: () => {
      waiting = [];
    },
    act: (action) => {
      waiting.push(action);
      return waiting.length > steps ? waiting.shift()! : waiting[0]!;
    },
  });
}

interface Motors {
  begin(): void;
  act(action: Action): Action;
}

const acting = (task: Task, { act, begin }: Motors): Task => ({
  observationSpace: task.observationSpace,
  actionSpace: task.actionSpace,
  reset(random) {
    begin();
    return task.reset(random);
  },
  step: (action) => task.step(act(action)),
});
