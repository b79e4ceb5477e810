/** Ranks the settings of a sweep, and says whether the best one is significantly better than the next. */

import { formatInterval, formatReturn, formatSigned, plural } from '../../base/text/numbers.js';
import type { BaselineName } from '../../config/baselines.js';
import type { UsageTotals } from '../../runs/calls.js';
import type { Summary } from '../../statistics/paired.js';
import { comparePairs, type PairedComparison } from '../../statistics/paired.js';
import { fewestForVerdict, pairedTest, verdicts } from '../../statistics/tests.js';
import { pText } from '../comparison/words.js';
import { settingName } from './settings.js';

export interface SettingFigures {
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
  /** The search that replaced the model, if any. */
  readonly baseline: BaselineName | null;
  /** Number of complete runs. */
  readonly runs: number;
  /** Confirmed returns in the order of the seeds; null if a seed has none. */
  readonly returns: readonly (number | null)[];
  readonly confirmed: Summary | null;
  /** Mean of the runs' highest observed returns; biased upwards, because each is the maximum of noisy means. */
  readonly observed: number | null;
  readonly usage: UsageTotals;
}

/** Sorts settings, best first; those with more complete seeds come first. */
export function ranked(settings: readonly SettingFigures[]): readonly SettingFigures[] {
  const count = ({ confirmed }: SettingFigures) => confirmed?.count ?? 0;
  const height = ({ confirmed }: SettingFigures) => confirmed?.mean ?? Number.NEGATIVE_INFINITY;
  return settings.toSorted((a, b) => count(b) - count(a) || height(b) - height(a));
}

interface Lead {
  readonly best: SettingFigures;
  readonly next: SettingFigures | undefined;
  /** Best minus next. The verdict is corrected for comparing the best with all settings that have as many seeds. */
  readonly difference: PairedComparison | undefined;
}

/** Compares the best setting with the next one, paired by seed; undefined if no run is complete. */
function leadOf(settings: readonly SettingFigures[]): Lead | undefined {
  const [best, ...others] = ranked(settings).filter(({ confirmed }) => confirmed !== null);
  if (best === undefined) return undefined;
  const [next, ...rest] = others.filter(({ confirmed }) => confirmed!.count === best.confirmed!.count);
  const own = next && comparePairs(best.returns, next.returns);
  if (own === undefined) return { best, next, difference: undefined };
  const tests = rest.map(({ returns }) => {
    const differences = returns.flatMap((value, i) => {
      const other = best.returns[i];
      return typeof value === 'number' && typeof other === 'number' ? [other - value] : [];
    });
    const test = differences.length < fewestForVerdict ? undefined : pairedTest(differences);
    return { interval: test?.interval ?? null, p: test?.p ?? null };
  });
  const [{ adjusted, verdict }] = verdicts([own, ...tests]) as [PairedComparison];
  return { best, next, difference: { ...own, adjusted, verdict } };
}

/** Says which setting is best and whether its lead is significant; undefined if no run is complete. */
export function bestSentence(
  settings: readonly SettingFigures[],
): { readonly text: string; readonly mark: 'higher' | 'too-few' | '' } | undefined {
  const lead = leadOf(settings);
  if (lead === undefined) return undefined;
  const { best, difference, next } = lead;
  const { count, mean } = best.confirmed!;
  if (settings.length === 1)
    return { text: `The mean return is ${formatReturn(mean)} over ${plural(count, 'seed')}.`, mark: '' };
  const first = `${settingName(best)} has the highest mean return, ${formatReturn(mean)} over ${plural(count, 'seed')}`;
  if (next === undefined || difference === undefined)
    return { text: `${first}; no other setting is complete on as many seeds.`, mark: '' };
  const against = `the next setting, ${settingName(next)}`;
  const { adjusted, interval, verdict } = difference;
  if (verdict === 'too-few' || interval === null || adjusted === null)
    return {
      text: `${first}. Whether it is better than ${against} (${formatReturn(next.confirmed!.mean)}) isn’t known yet: a verdict needs at least ${fewestForVerdict} seeds.`,
      mark: 'too-few',
    };
  const measured = `(${formatSigned(difference.difference)}, 95 % interval ${formatInterval(interval, formatSigned)}, p ${pText(adjusted)})`;
  return verdict === 'higher'
    ? { text: `${first}, significantly higher than ${against} ${measured}.`, mark: 'higher' }
    : { text: `${first}, but not significantly higher than ${against} ${measured}.`, mark: '' };
}
