import type { HillClimbConfig } from '../../config.js';
import type { ParameterVector } from '../../policies/policy.js';
import type { RandomGenerator } from '../../random.js';
import type { Evaluated, LanguageModel } from '../language-model.js';
import { createControl, foldHistory, pointKey, sampleUnseen } from './control.js';
import { createValueGrid, drawPoint, type ValueGrid } from './value-grid.js';

/**
 * A random step from the best point so far (from the newest of equals, so that it wanders over plateaus): Gaussian
 * in every coordinate; where the parameters are integers, one or a few entries are drawn anew.
 */
export function createHillClimb(config: HillClimbConfig): LanguageModel {
  const climb = foldHistory(
    () => ({ seen: new Set<string>(), best: undefined as Evaluated | undefined }),
    (state, evaluated) => {
      state.seen.add(pointKey(evaluated.parameters));
      if (state.best === undefined || evaluated.score >= state.best.score) state.best = evaluated;
    },
  );
  return createControl('control/hill-climb', (task, random) => {
    const { seen, best } = climb(task);
    const spec = task.parameters;
    const grid = createValueGrid(spec);
    const listed = spec.kind === 'integer' || spec.choices !== undefined;
    const anywhere = () => drawPoint(grid, spec.count, random);
    if (best === undefined) return anywhere();
    const step = (value: number, widening: number) =>
      grid.value(grid.index(value + config.sigma * widening * random.normal()));
    return sampleUnseen(
      seen,
      (widening) =>
        listed
          ? mutate(best.parameters, grid, widening, random)
          : best.parameters.map((value) => step(value, widening)),
      anywhere,
    );
  });
}

/** Draws each entry anew with probability `expected` / length, and at least one. */
function mutate(
  parameters: ParameterVector,
  grid: ValueGrid,
  expected: number,
  random: RandomGenerator,
): ParameterVector {
  const certain = random.integers(0, parameters.length);
  return parameters.map((value, i) =>
    i === certain || random.random() < expected / parameters.length ? drawOther(value, grid, random) : value,
  );
}

/** Any value but this one, all alike. */
function drawOther(value: number, grid: ValueGrid, random: RandomGenerator): number {
  if (grid.size === 1) return value;
  const shift = random.integers(1, grid.size);
  return grid.value((grid.index(value) + shift) % grid.size);
}
