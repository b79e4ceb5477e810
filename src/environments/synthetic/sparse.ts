import type { RandomGenerator } from '../../random/generator.js';
import { largest } from '../../statistics/descriptive.js';
import { drawShare, quantile } from './calibration.js';
import { projection } from './controlled-task.js';
import { chance, type Draw, integerBetween, logUniform, permutation, unitVector } from './distributions.js';
import { drawDimension, drawUnits, type Height, randomPoint, reach, SingleStepTask } from './landscape.js';

/** Number of random points used to set the height of the plateau. */
const samples = 600;

/**
 * A plateau with a few narrow bumps and ridges, flat or with a weak slope (which may lead away from them).
 * Their width is such that the target share of random points is on one of them.
 */
export const drawSparse: Draw<{ readonly parameters?: number | undefined }> = (random, { parameters }) => {
  const n = parameters ?? drawDimension(random);
  const { nearness, top } = drawBumps(random, n);
  const share = drawShare(random);
  const heights = Float64Array.from({ length: samples }, () => nearness(randomPoint(random, n))).sort();
  const level = quantile(heights, 1 - share);
  // The bumps are almost flat, or there is no plateau left.
  if (top - level < 1e-6) return undefined;
  const slope = chance(random, 0.4) ? unitVector(random, n) : new Float64Array(n);
  const steepness = logUniform(random, 0.002, 0.05) / reach;
  const exponent = chance(random, 0.5) ? 1 : logUniform(random, 0.2, 3);
  const { scale, offset } = drawUnits(random);
  const height: Height = (point) => {
    const downhill = projection(point, slope);
    const above = Math.max(0, (nearness(point) - level) / (top - level));
    return offset + scale * (above ** exponent + steepness * downhill);
  };
  const noise = chance(random, 0.4) ? scale * logUniform(random, 0.003, 0.1) : 0;
  return { task: new SingleStepTask(n, height, noise), maxSteps: 1 };
};

/**
 * The maximum of a few terms bonus − distance². The distance counts all dimensions for a bump, some of them
 * for a ridge. `top` is the largest bonus.
 */
function drawBumps(random: RandomGenerator, n: number): { readonly nearness: Height; readonly top: number } {
  const bumps = Array.from({ length: integerBetween(random, 1, 4) }, () => ({
    centre: Float64Array.from({ length: n }, () => random.uniform(-0.9 * reach, 0.9 * reach)),
    dimensions: permutation(random, n).slice(0, chance(random, 0.5) ? n : integerBetween(random, 1, n)),
    width: logUniform(random, 0.5, 2),
    bonus: random.uniform(0, 0.3),
  }));
  const nearness: Height = (point) => {
    let best = Number.NEGATIVE_INFINITY;
    for (const { centre, dimensions, width, bonus } of bumps) {
      let distance = 0;
      for (const i of dimensions) distance += ((point[i]! - centre[i]!) / width) ** 2;
      best = Math.max(best, bonus - distance / dimensions.length);
    }
    return best;
  };
  return { nearness, top: largest(bumps.map(({ bonus }) => bonus)) };
}
