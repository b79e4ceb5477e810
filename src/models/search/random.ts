import type { LanguageModel } from '../language-model.js';
import { createControl, foldHistory, pointKey, sampleUnseen } from './control.js';
import { createValueGrid, drawPoint } from './value-grid.js';

/** Uniform random search: the least that a method must beat. */
export function createRandomSearch(): LanguageModel {
  const evaluatedPoints = foldHistory(
    () => new Set<string>(),
    (seen, { parameters }) => seen.add(pointKey(parameters)),
  );
  return createControl('control/random', (task, random) => {
    const grid = createValueGrid(task.parameters);
    const draw = () => drawPoint(grid, task.parameters.count, random);
    return sampleUnseen(evaluatedPoints(task), draw, draw);
  });
}
