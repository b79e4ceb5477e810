/** Samples of Gaussian processes from random Fourier features: A. Rahimi and B. Recht (2007). */
import type { RandomGenerator } from '../../../random/generator.js';
import { chance, logUniform } from '../distributions.js';
import type { Height } from '../landscape.js';

/** Number of cosines per sample; 100 approximate a one-dimensional sample well. */
const features = 100;

/**
 * Each kernel, identified by the degrees of freedom of Student's t distribution for its frequencies: Matérn
 * ½, 3⁄2, 5⁄2.
 */
const kernels = ['gaussian', 1, 3, 5] as const;
type Kernel = (typeof kernels)[number];

/**
 * A sample of a process on [−1, 1]ⁿ. Each coordinate has a length scale, log-uniform in 0.1 to 10 (times
 * √n/2, because distances grow with n); 30% of the coordinates have no effect.
 * @param of `sum`: of one or two kernels; `product`: of two, whose frequencies are added
 */
export function drawField(random: RandomGenerator, n: number, of: 'sum' | 'product'): Height {
  const active = Array.from({ length: n }, (_, i) => i === 0 || !chance(random, 0.3));
  const rates = () => active.map((acts) => (acts ? 2 / (Math.sqrt(n) * logUniform(random, 0.1, 10)) : 0));
  const [first, second] = [drawWaves(random, rates()), drawWaves(random, rates())];
  if (of === 'product') return heightOf(first.map((wave, k) => joined(wave, second[k]!)));
  const share = chance(random, 0.5) ? 0 : random.uniform(0.2, 1);
  const [one, other] = [heightOf(first), heightOf(second)];
  return share === 0 ? one : (point) => one(point) + share * other(point);
}

interface Wave {
  readonly frequency: Float64Array;
  readonly phase: number;
  readonly height: number;
}

const joined = (a: Wave, b: Wave): Wave => ({
  ...a,
  frequency: a.frequency.map((f, i) => f + b.frequency[i]!),
});

function drawWaves(random: RandomGenerator, rates: readonly number[]): readonly Wave[] {
  const kernel = random.choice(kernels);
  return Array.from({ length: features }, () => {
    const spread = spreadOf(random, kernel);
    return {
      frequency: Float64Array.from(rates, (rate) => rate * spread * random.normal()),
      phase: random.uniform(0, 2 * Math.PI),
      height: random.normal() * Math.sqrt(2 / features),
    };
  });
}

/** √(ν / χ²_ν), which turns normal frequencies into those of Student's t distribution. */
function spreadOf(random: RandomGenerator, kernel: Kernel): number {
  if (kernel === 'gaussian') return 1;
  let sum = 0;
  for (let k = 0; k < kernel; k++) sum += random.normal() ** 2;
  return Math.sqrt(kernel / sum);
}

const heightOf =
  (waves: readonly Wave[]): Height =>
  (point) => {
    let sum = 0;
    for (const { frequency, height, phase } of waves) {
      let angle = phase;
      for (let i = 0; i < frequency.length; i++) angle += frequency[i]! * point[i]!;
      sum += height * Math.cos(angle);
    }
    return sum;
  };
