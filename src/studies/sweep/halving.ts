/**
 * Successive halving over seeds: all settings run on a few seeds, and only the better ones continue on more seeds
 * (Jamieson & Talwalkar 2016, "Non-stochastic best arm identification"). Settings that have almost certainly lost are
 * dropped early, as in racing.
 */
import { isLost } from '../../rollout/racing.js';
import { differenceRange, type Interval } from '../../statistics/bootstrap.js';
import { mean } from '../../statistics/descriptive.js';

interface Halving {
  readonly first: number;
  readonly factor: number;
  readonly confidence: number;
}

/** Number of seeds per setting after each round. */
export function roundsOf(
  { first, factor }: Pick<Halving, 'first' | 'factor'>,
  seeds: number,
): readonly number[] {
  const rounds: number[] = [];
  for (let count = Math.min(first, seeds); ; count = Math.min(count * factor, seeds)) {
    rounds.push(count);
    if (count === seeds) return rounds;
  }
}

/** Maximum number of runs, reached if no setting fails or loses early. */
export function mostRuns(
  halving: Pick<Halving, 'first' | 'factor'>,
  settings: number,
  seeds: number,
): number {
  let left = settings;
  let before = 0;
  let runs = 0;
  for (const count of roundsOf(halving, seeds)) {
    runs += left * (count - before);
    before = count;
    left = Math.ceil(left / halving.factor);
  }
  return runs;
}

export interface Contender {
  readonly name: string;
  readonly confirmed: readonly (number | null)[];
}

/** Reason why a setting doesn't run on more seeds. */
export type Dropped = 'failed' | 'halved' | 'lost';

/**
 * Decides which settings are dropped after a round, and why. Keeps the best 1/`factor` (earlier ones win ties), except
 * settings that failed on a seed, or whose differences from the best one show that they almost certainly can't catch up
 * with it over all seeds.
 * @param seeds total number of seeds in the sweep
 * @param range range of an episode's return; if it is infinite, no setting counts as lost
 */
export function dropsAfter(
  contenders: readonly Contender[],
  { factor, confidence }: Pick<Halving, 'factor' | 'confidence'>,
  seeds: number,
  range: Interval,
): ReadonlyMap<string, Dropped> {
  const drops = new Map<string, Dropped>();
  const whole = contenders.flatMap(({ name, confirmed }) => {
    const values = confirmed.flatMap((value) => value ?? []);
    if (values.length === confirmed.length && values.length > 0)
      return [{ name, values, mean: mean(values) }];
    drops.set(name, 'failed');
    return [];
  });
  const ranked = whole.toSorted((a, b) => b.mean - a.mean);
  const kept = Math.ceil(contenders.length / factor);
  const [best] = ranked;
  const [, highest] = differenceRange(range);
  for (const [rank, { name, values }] of ranked.entries()) {
    const race = { confidence, block: 1, episodes: seeds, highest, total: 0 };
    const behind = values.map((value, i) => value - best!.values[i]!);
    if (rank >= kept) drops.set(name, 'halved');
    else if (rank > 0 && Number.isFinite(highest) && isLost(race, behind)) drops.set(name, 'lost');
  }
  return drops;
}
