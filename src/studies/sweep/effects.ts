/** The effects of a sweep's keys on the confirmed return. */
import type { Interval } from '../../statistics/bootstrap.js';
import { mean, sum } from '../../statistics/descriptive.js';
import {
  comparePairs,
  type PairedDifference,
  type SampleSummary,
  summarize,
} from '../../statistics/paired.js';
import { type GroupDifference, judgeDifferences, withholdVerdict } from '../comparison/comparability.js';
import { failureCaution } from '../comparison/failures.js';
import type { SettingFigures } from './ranking.js';

/** The mean return of all settings that share a value of a key. */
interface LevelMean {
  readonly key: string;
  readonly value: string;
  /** The mean over settings, summarised over seeds. */
  readonly confirmed: SampleSummary;
}

/** The effect of a value of a key, compared with the key's first value. */
export interface Effect
  extends Pick<PairedDifference, 'difference' | 'interval' | 'p'>,
    Pick<GroupDifference, 'adjusted' | 'reason' | 'verdict'> {
  readonly key: string;
  readonly of: string;
  readonly against: string;
}

export interface Effects {
  /** Number of seeds for which all settings have a return; each is one observation. */
  readonly count: number;
  readonly levels: readonly LevelMean[];
  readonly main: readonly Effect[];
}

/**
 * Computes effects, averaged over the other keys and paired by seed; null if no seed has a return for all settings.
 * @param settings one for each combination of the keys' values
 * @param range possible range of a return
 */
export function effectsOf(
  keys: readonly { readonly key: string }[],
  settings: readonly Pick<SettingFigures, 'values' | 'returns' | 'over' | 'failed'>[],
  range: Interval,
): Effects | null {
  const seedIndices = (settings[0]?.returns ?? []).flatMap((_, i) =>
    settings.every(({ returns }) => typeof returns[i] === 'number') ? [i] : [],
  );
  if (seedIndices.length === 0) return null;
  /** Returns, for each seed, the mean over all settings with this value. */
  const seedMeans = (key: string, value: string) => {
    const matches = settings.filter(({ values }) => values[key] === value);
    return seedIndices.map((seed) => mean(matches.map(({ returns }) => returns[seed]!)));
  };
  const failuresOf = (key: string, value: string) => {
    const matches = settings.filter(({ values }) => values[key] === value);
    const total = (field: 'failed' | 'over') => sum(matches.map((one) => one[field]));
    return { name: `${key}=${value}`, failed: total('failed'), over: total('over') };
  };
  const varyingKeys = keys
    .map(({ key }) => ({ key, items: [...new Set(settings.map(({ values }) => values[key]!))] }))
    .filter(({ items }) => items.length > 1);
  const mainEffects = varyingKeys.flatMap(({ key, items: [against, ...others] }) =>
    others.map((of) => {
      const { difference, interval, p } = comparePairs(seedMeans(key, of), seedMeans(key, against!), range)!;
      const reason = failureCaution(failuresOf(key, of), failuresOf(key, against!));
      return withholdVerdict({ key, of, against: against!, difference, interval, p }, reason);
    }),
  );
  return {
    count: seedIndices.length,
    levels: varyingKeys.flatMap(({ key, items }) =>
      items.map((value) => ({ key, value, confirmed: summarize(seedMeans(key, value), range)! })),
    ),
    main: judgeDifferences([mainEffects])[0]!,
  };
}
