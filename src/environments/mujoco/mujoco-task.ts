import type { RandomGenerator } from '../../base/random/generator.js';
import { isSinglePrecision } from '../classic-control/single-precision.js';
import { type BoxSpace, type Observation, symmetricBox, type Task, type TaskStep } from '../environment.js';
import type { Frame } from '../frame.js';
import { drawScene, type Scene } from './scene.js';
import type { Simulation, State } from './simulation.js';

interface TaskRules {
  readonly observationLength: number;
  /** Perturbs the model's default pose into an initial state. */
  place(state: State, random: RandomGenerator): void;
  observe(state: State): number[];
  /** Reward and termination after a step. @param velocity mean velocity of the first joint, usually along x */
  judge(state: State, action: readonly number[], velocity: number): Pick<TaskStep, 'reward' | 'terminated'>;
  readonly scene: Scene;
}

/** One of Gymnasium's MuJoCo v5 environments. An action has one control per actuator. */
export class MujocoTask implements Task<readonly number[]> {
  readonly observationSpace: BoxSpace;
  readonly actionSpace: BoxSpace;
  readonly stepSeconds: number;
  readonly #simulation: Simulation;
  readonly #rules: TaskRules;

  constructor(simulation: Simulation, rules: TaskRules) {
    this.observationSpace = symmetricBox(rules.observationLength, Number.POSITIVE_INFINITY, 'float64');
    this.actionSpace = { kind: 'box', low: simulation.model.controlLow, high: simulation.model.controlHigh };
    this.stepSeconds = simulation.stepSeconds;
    this.#simulation = simulation;
    this.#rules = rules;
  }

  reset(random: RandomGenerator): Observation {
    this.#simulation.start((state) => this.#rules.place(state, random));
    return this.#rules.observe(this.#simulation.state);
  }

  step(action: readonly number[]): TaskStep {
    const simulation = this.#simulation;
    const previousX = simulation.state.qpos[0]!;
    simulation.advance(action);
    const { state } = simulation;
    const forwardVelocity = (state.qpos[0]! - previousX) / simulation.stepSeconds;
    return { observation: this.#rules.observe(state), ...this.#rules.judge(state, action, forwardVelocity) };
  }

  frame(): Frame {
    return drawScene(this.#rules.scene, this.#simulation);
  }

  close(): void {
    this.#simulation.close();
  }
}

/** Adds uniform noise within ±scale. */
export function addUniformNoise(values: Float64Array, scale: number, random: RandomGenerator): void {
  for (let i = 0; i < values.length; i++) values[i] = values[i]! + random.uniform(-scale, scale);
}

/** Adds normal noise with standard deviation `scale`. */
export function addNormalNoise(values: Float64Array, scale: number, random: RandomGenerator): void {
  for (let i = 0; i < values.length; i++) values[i] = values[i]! + scale * random.normal();
}

/** Clips a value to ±limit. */
export function clampTo(value: number, limit: number): number {
  return Math.min(limit, Math.max(-limit, value));
}

const { fround } = Math;

/** Computes weight · Σ action², unclipped; in single precision, like NumPy, if float32 can represent the action. */
export function controlCost(weight: number, action: readonly number[]): number {
  let sum = 0;
  if (!action.every(isSinglePrecision)) {
    for (const component of action) sum += component * component;
    return weight * sum;
  }
  for (const component of action) sum = fround(sum + fround(component * component));
  return fround(fround(weight) * sum);
}
