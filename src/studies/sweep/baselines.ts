/** The baselines of a sweep: searches without a language model that replace the model, with the same budget. */

import { type BaselineName, baselineLabel } from '../../config/baselines.js';
import type { Config, ConfigInput } from '../../config/config.js';
import { evaluationsOf } from '../../config/stages.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { pairedMeans } from '../../statistics/paired.js';
import { verdicts } from '../../statistics/tests.js';
import type { GroupDifference } from '../comparison/comparability.js';
import { type Setting, settingOf } from './settings.js';

/** A baseline with the keys of the setting that it is compared with, apart from those it doesn't read. */
export interface BaselineSetting extends Setting {
  readonly baseline: BaselineName;
  /** The sections of the config that the baseline doesn't read. */
  readonly dropped: readonly string[];
  readonly iterations: number;
}

const ofNumbers = ['random', 'hill-climb', 'cma-es', 'gp'] as const;
const ofPrograms = ['random', 'genetic'] as const;

/** Sections that mean the same without a language model. Some others are errors without one. */
const shared: readonly string[] = [
  ...(['environment', 'policy', 'seed', 'iterations', 'candidates', 'target', 'limits', 'warmup'] as const),
  ...(['evaluation', 'confirmation', 'record', 'name', 'sweep', 'slurm'] as const),
] satisfies readonly (keyof ConfigInput)[];

const isShared = (key: string) => shared.includes(key.split('.', 1)[0]!);

/** The baselines to compare a setting with. @param config the setting's config, which determines the budget */
export function baselinesFor({ values }: Setting, config: Config): readonly BaselineSetting[] {
  const names = config.policy?.kind === 'program' ? ofPrograms : ofNumbers;
  const own = Object.entries(values).filter(([key]) => isShared(key));
  const dropped = Object.keys(config).filter((key) => key !== 'model' && !isShared(key));
  // Stages add evaluations, too.
  const iterations = Math.round(evaluationsOf(config) / config.candidates);
  const more = iterations === config.iterations ? [] : [['iterations', String(iterations)] as const];
  return names.map((baseline) => {
    const setting = settingOf(Object.fromEntries([['baseline', baseline], ...own, ...more]));
    return { ...setting, baseline, dropped, iterations };
  });
}

/** @param fixed `key=value` overrides for all settings */
export function baselineOverrides(
  { baseline, dropped, iterations }: BaselineSetting,
  fixed: readonly string[],
): readonly string[] {
  return [
    ...fixed.filter((text) => isShared(text.split('=', 1)[0]!.trim())),
    ...dropped.map((section) => `${section}=`),
    `model={provider: ${baseline}}`,
    `iterations=${iterations}`,
  ];
}

/** A setting of the sweep with its confirmed returns in the order of the seeds. */
interface Measured {
  readonly name: string;
  readonly label: string;
  readonly baseline: BaselineName | null;
  /** Names of the baselines with the same values of the other keys. */
  readonly comparedWith: readonly string[];
  readonly returns: readonly (number | null)[];
}

/**
 * Compares each setting of each task with its baselines, paired by seed. All differences of a sweep share Holm's
 * correction.
 */
export function baselineDifferences(
  tasks: readonly { readonly settings: readonly Measured[]; readonly range: Interval }[],
): readonly (readonly GroupDifference[])[] {
  const found = tasks.map(({ range, settings }) =>
    settings.flatMap((of) =>
      of.comparedWith.flatMap((name) => {
        const against = settings.find((one) => one.name === name)!;
        const difference = pairedMeans(of.returns, against.returns, range);
        if (difference === undefined) return [];
        const named = { of: of.label, against: baselineLabel(against.baseline!) };
        return { ...difference, ...named, test: 'paired', counts: [difference.pairs] } as const;
      }),
    ),
  );
  const judged = verdicts(found.flat());
  let next = 0;
  return found.map((own) => own.map(() => judged[next++]!));
}
