import type { HillClimbConfig } from '../../config.js';
import type { Evaluated, LanguageModel } from '../language-model.js';
import { createControl, foldHistory, pointKey, sampleUnseen } from './control.js';
import { isTable, mutate } from './table-mutation.js';
import { createValueGrid, drawPoint } from './value-grid.js';

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
    const anywhere = () => drawPoint(grid, spec.count, random);
    if (best === undefined) return anywhere();
    const step = (value: number, widening: number) =>
      grid.value(grid.index(value + config.sigma * widening * random.normal()));
    return sampleUnseen(
      seen,
      (widening) =>
        isTable(spec)
          ? mutate(best.parameters, grid, widening, random)
          : best.parameters.map((value) => step(value, widening)),
      anywhere,
    );
  });
}
