/** Ranks the settings of a sweep, and says whether the best one is significantly better than the next. */

import { formatInterval, formatReturn, formatSigned, plural } from '../../base/text/numbers.js';
import type { UsageTotals } from '../../runs/calls.js';
import { minSizeIfTied } from '../../statistics/bootstrap.js';
import { comparePairs, type SampleSummary } from '../../statistics/paired.js';
import { minForVerdict, withVerdicts } from '../../statistics/tests.js';
import { failureCaution } from '../comparison/failures.js';
import { pText } from '../comparison/words.js';
import { type SweepSetting, settingName } from './settings.js';

export interface SettingFigures extends Omit<SweepSetting, 'config'> {
  /** Number of complete runs. */
  readonly runs: number;
  /** Number of runs that are complete or failed; `failed` of them failed (see `hasFailed`). */
  readonly over: number;
  readonly failed: number;
  /** Returns in the order of the seeds: confirmed, or the environment's lowest if the run failed; null if unknown. */
  readonly returns: readonly (number | null)[];
  readonly confirmed: SampleSummary | null;
  /** Mean of the runs' highest observed returns; biased upwards, because each is the maximum of noisy means. */
  readonly observed: number | null;
  readonly usage: UsageTotals;
}

/** Sorts settings by their number of seeds with a known return, then by the mean return, both descending. */
export function rankSettings(settings: readonly SettingFigures[]): readonly SettingFigures[] {
  const count = ({ confirmed }: SettingFigures) => confirmed?.count ?? 0;
  const meanReturn = ({ confirmed }: SettingFigures) => confirmed?.mean ?? Number.NEGATIVE_INFINITY;
  return settings.toSorted((a, b) => count(b) - count(a) || meanReturn(b) - meanReturn(a));
}

/** Says which setting is best and whether its lead is significant; undefined if no return is confirmed. */
export function bestSentence(
  settings: readonly SettingFigures[],
): { readonly text: string; readonly mark: 'higher' | 'too-few' | '' } | undefined {
  const [best, ...others] = rankSettings(settings).filter(({ confirmed }) => confirmed !== null);
  if (best === undefined) return undefined;
  const { count, mean } = best.confirmed!;
  if (settings.length === 1)
    return { text: `The mean return is ${formatReturn(mean)} over ${plural(count, 'seed')}.`, mark: '' };
  const opening = `${settingName(best)} has the highest mean return, ${formatReturn(mean)} over ${plural(count, 'seed')}`;
  // The verdict is corrected for comparing the best setting with all others that have the same number of seeds.
  const [lead] = withVerdicts(
    others.flatMap((next) => {
      const comparison = next.confirmed!.count === count && comparePairs(best.returns, next.returns);
      return comparison ? [{ ...comparison, next }] : [];
    }),
  );
  if (lead === undefined)
    return { text: `${opening}; no other setting has that many complete seeds.`, mark: '' };
  const { adjusted, difference, interval, next, verdict } = lead;
  const against = `the next setting, ${settingName(next)}`;
  const reason = failureCaution(...[best, next].map((one) => ({ ...one, name: settingName(one) })));
  if (reason !== undefined) return { text: `${opening}. There is no verdict: ${reason}.`, mark: '' };
  if (verdict === 'too-few' || interval === null || adjusted === null)
    return {
      text: `${opening}. Whether it is better than ${against} (${formatReturn(next.confirmed!.mean)}), isn't known yet: a verdict needs at least ${count < minForVerdict ? minForVerdict : minSizeIfTied} seeds.`,
      mark: 'too-few',
    };
  const figures = `(${formatSigned(difference)}, 95 % interval ${formatInterval(interval, formatSigned)}, p ${pText(adjusted)})`;
  return verdict === 'higher'
    ? { text: `${opening}, significantly higher than ${against} ${figures}.`, mark: 'higher' }
    : { text: `${opening}, but not significantly higher than ${against} ${figures}.`, mark: '' };
}
