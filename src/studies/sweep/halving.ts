/**
 * Successive halving over seeds: all settings are played on few seeds, the better ones on more and more of them (Jamieson &
 * Talwalkar 2016, "Non-stochastic best arm identification"); what has surely lost is dropped out of turn, as in a race.
 */
import { isLost } from '../../rollout/racing.js';
import { differenceRange, type Interval } from '../../statistics/bootstrap.js';
import { mean } from '../../statistics/descriptive.js';

/** The section `sweep` with `method: halving`. */
interface Halving {
  readonly first: number;
  readonly factor: number;
  readonly confidence: number;
}

/** How many seeds a setting has been played on after each round. */
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

/** The most runs that there can be: none is dropped out of turn. */
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

/** A setting after a round, by its confirmed returns on the seeds so far; null for a run that gave none. */
export interface Contender {
  readonly name: string;
  readonly confirmed: readonly (number | null)[];
}

/** Why a setting is played on no further seed. */
export type Dropped = 'failed' | 'halved' | 'lost';

/**
 * What becomes of each setting after a round: undefined where it goes on. The better ones go on, one of `factor`, the
 * earlier on ties; of these, one whose differences from the best say that it hardly reaches that over all seeds does not.
 * @param seeds of the whole sweep
 * @param range what an episode can return; the race drops nothing where it is not known
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
