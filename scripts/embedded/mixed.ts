import type { Environment, Observation } from '../../src/environments/environment.js';
import { rotation } from '../../src/environments/synthetic/distributions.js';
import { createGenerator } from '../../src/random/generator.js';

/** Wraps an environment so that a fixed random rotation is applied to its observations. */
export function mixedObservations(environment: Environment): Environment {
  const { observationSpace } = environment;
  if (observationSpace.kind !== 'box')
    throw new Error(`the observations of ${environment.id} aren't vectors`);
  const n = observationSpace.low.length;
  const matrix = rotation(createGenerator(1), n);
  const turned = (observation: Observation) => {
    const seen = observation as readonly number[];
    return seen.map((_, i) => seen.reduce((sum, value, j) => sum + matrix[i * n + j]! * value, 0));
  };
  const unbounded = { low: Array<number>(n).fill(-Infinity), high: Array<number>(n).fill(Infinity) };
  return {
    id: environment.id,
    observationSpace: { kind: 'box', ...unbounded },
    actionSpace: environment.actionSpace,
    ...(environment.maxSteps !== undefined && { maxSteps: environment.maxSteps }),
    reset: (seed) => turned(environment.reset(seed)),
    step(action) {
      const step = environment.step(action);
      return { ...step, observation: turned(step.observation) };
    },
    close: () => environment.close?.(),
  };
}
