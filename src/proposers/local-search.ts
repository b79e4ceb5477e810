import type { RandomGenerator } from '../base/random/generator.js';
import type { HillClimbConfig } from '../config/baselines.js';
import type { ParameterVector } from '../policies/policy.js';
import { type ScoredParameters, vectorKey } from '../rollout/replay-buffer.js';
import { type Baseline, createKeyCollector, historyFold, type SearchTask, sampleUnseen } from './baseline.js';
import { createValueGrid, drawPoint, isUnordered, mutate } from './moves.js';
import { programBaseline, randomProgramSearch } from './programs.js';

/** Standard deviation of a hill-climbing step as a share of the range, tuned as described in docs/results/tasks.md. */
const hillStep = 1 / 6;

/** Draws parameters uniformly; for programs, draws random programs. */
export function createRandomSearch(): Baseline {
  const seenKeys = createKeyCollector();
  const programs = programBaseline(randomProgramSearch);
  return {
    propose(task, random) {
      if (task.programs !== undefined) return programs.propose(task, random);
      const grid = createValueGrid(task.parameters);
      const draw = () => drawPoint(grid, task.parameters.count, random);
      return sampleUnseen(seenKeys(task), draw, draw);
    },
  };
}

/** Takes Gaussian steps from the best point so far (the newest if tied); for tables, redraws entries. */
export function createHillClimb(config: HillClimbConfig): Baseline {
  const stateFor = createClimbState();
  return {
    propose(task, random) {
      const { seen, best } = stateFor(task);
      const { high, low } = task.parameters;
      const sigma = config.sigma ?? hillStep * (high - low);
      return proposeFrom(best, task, seen, random, (widening) => ({
        deviation: sigma * widening,
        extraCount: widening,
      }));
    },
  };
}

/** Collects the keys of evaluated points, and finds the best point; the newest wins ties. */
const createClimbState = () =>
  historyFold(
    () => ({ seen: new Set<string>(), best: undefined as ScoredParameters | undefined }),
    (state, entry) => {
      state.seen.add(vectorKey(entry.parameters));
      if (state.best === undefined || entry.score >= state.best.score) state.best = entry;
    },
  );

/** Probability that a move to the ends of the range changes a coordinate; see `createMix`. */
const cornerProbability = 0.35;

/**
 * Moves from the best point. Half of the moves set some coordinates to an end of the range: many policies act the same
 * if all their parameters are scaled up. The others are Gaussian, with a log-uniform standard deviation between a 40th
 * of the range and the whole range. Tables change as in hill climbing.
 */
export function createMix(): Baseline {
  const stateFor = createClimbState();
  return {
    propose(task, random) {
      const { seen, best } = stateFor(task);
      const { low, high } = task.parameters;
      if (best === undefined || isUnordered(task.parameters))
        return proposeFrom(best, task, seen, random, (widening) => ({ deviation: 0, extraCount: widening }));
      const grid = createValueGrid(task.parameters);
      const move = () => {
        if (random.random() < 0.5)
          return best.parameters.map((value) => {
            if (random.random() >= cornerProbability) return value;
            return grid.value(random.random() < 0.5 ? 0 : grid.size - 1);
          });
        const deviation = (high - low) * 40 ** -random.random();
        return best.parameters.map((value) => grid.value(grid.index(value + deviation * random.normal())));
      };
      return sampleUnseen(seen, move, () => drawPoint(grid, task.parameters.count, random));
    },
  };
}

/**
 * Takes a step from a point, or draws a point if there is none.
 * @param stepOf returns the size of a step; for tables, `extraCount` is about how many entries to redraw beyond one
 */
function proposeFrom(
  from: ScoredParameters | undefined,
  { parameters: spec }: SearchTask,
  seen: ReadonlySet<string>,
  random: RandomGenerator,
  stepOf: (widening: number) => { readonly deviation: number; readonly extraCount: number },
): ParameterVector {
  const grid = createValueGrid(spec);
  const drawAnywhere = () => drawPoint(grid, spec.count, random);
  if (from === undefined) return drawAnywhere();
  const drawNear = (widening: number) => {
    const { deviation, extraCount } = stepOf(widening);
    if (isUnordered(spec)) return mutate(from.parameters, grid, extraCount, random);
    return from.parameters.map((value) => grid.value(grid.index(value + deviation * random.normal())));
  };
  return sampleUnseen(seen, drawNear, drawAnywhere);
}
