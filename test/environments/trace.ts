import type { Action, Environment, Observation } from '../../src/environments/environment.js';

/** One recorded episode of Python Gymnasium, as `record-traces.py` writes it. */
export interface Trace {
  readonly env: string;
  readonly kwargs?: Readonly<Record<string, unknown>>;
  /** A number, or a string where it may be larger than a double holds. */
  readonly seed: number | string;
  /** 0 was started by `reset(seed)`, later ones by `reset()` on the same stream. */
  readonly episode: number;
  readonly reset_obs: Observation;
  readonly actions: readonly Action[];
  readonly observations: readonly Observation[];
  readonly rewards: readonly number[];
  readonly terminated: readonly boolean[];
  readonly truncated: readonly boolean[];
}

export interface Deviation {
  /** Largest absolute difference of the observation after the reset. */
  readonly reset: number;
  /** Largest absolute difference of an observation. */
  readonly observation: number;
  /** Largest absolute difference of a reward. */
  readonly reward: number;
  /** First step whose `terminated` or `truncated` differ, or -1. */
  readonly flags: number;
}

/** Plays a trace's actions in the episode that the environment is about to start. */
export function replay(environment: Environment, trace: Trace, steps = trace.actions.length): Deviation {
  const start = environment.reset(trace.episode === 0 ? BigInt(trace.seed) : undefined);
  const reset = distance(start, trace.reset_obs);
  let [observation, reward] = [0, 0];
  for (let i = 0; i < Math.min(steps, trace.actions.length); i++) {
    const step = environment.step(trace.actions[i]!);
    observation = Math.max(observation, distance(step.observation, trace.observations[i]!));
    reward = Math.max(reward, Math.abs(step.reward - trace.rewards[i]!));
    if (step.terminated !== trace.terminated[i] || step.truncated !== trace.truncated[i]) {
      return { reset, observation, reward, flags: i };
    }
  }
  return { reset, observation, reward, flags: -1 };
}

/** Largest absolute difference of a component; NaN where the shapes differ. */
function distance(a: Observation, b: Observation): number {
  if (typeof a !== 'object' || typeof b !== 'object') return Math.abs(Number(a) - Number(b));
  if (a.length !== b.length) return Number.NaN;
  return Math.max(...a.map((value, i) => Math.abs(value - b[i]!)));
}

/** How far an environment may be from Gymnasium. */
export interface Precision {
  readonly reset: number;
  /** The step of each observation and reward. */
  readonly step: number;
  /** Steps of an episode that can be compared; chaos makes later ones differ. */
  readonly steps?: number;
}

/**
 * V8's sine and cosine differ from C's in the last bit now and then, as do normal deviates from NumPy's, and MuJoCo
 * compiled for WebAssembly from MuJoCo compiled for this processor. What the dynamics make of it differs: Python's
 * HalfCheetah beside itself, with velocities that differ in the last bit, is 4e-8 off after 30 steps and 5e-5 after 50.
 */
export function precision(environment: Environment): Precision {
  const known = measured[environment.id];
  if (known !== undefined) return known;
  return { reset: 0, step: environment.observationSpace.kind === 'box' ? 1e-6 : 0 };
}

const measured: Readonly<Record<string, Precision>> = {
  'Pong-v0': { reset: 0, step: 0 },
  'NavigationTrack-v0': { reset: 1e-11, step: 1e-11 },
  'HalfCheetah-v5': { reset: 1e-14, step: 5e-8, steps: 50 },
  'Hopper-v5': { reset: 0, step: 1e-12 },
  'Walker2d-v5': { reset: 0, step: 1e-11 },
  'Swimmer-v5': { reset: 0, step: 1e-9 },
  'Reacher-v5': { reset: 1e-14, step: 1e-12 },
  'InvertedPendulum-v5': { reset: 0, step: 1e-12 },
  'InvertedDoublePendulum-v5': { reset: 1e-14, step: 1e-12 },
};
