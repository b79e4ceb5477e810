/** The baselines of a sweep: searches without a language model that replace the model, with the same budget. */

import { type BaselineName, baselineLabel } from '../../config/baselines.js';
import type { ConfigInput } from '../../config/config.js';
import { parseConfig } from '../../config/load.js';
import { plannedEvaluations } from '../../config/stages.js';
import type { Interval } from '../../statistics/bootstrap.js';
import { type GroupDifference, judgeDifferences, pairedDifference } from '../comparison/comparability.js';
import { failureCaution } from '../comparison/failures.js';
import type { SettingFigures } from './ranking.js';
import { createSetting, type SweepSetting, settingName } from './settings.js';

const numericSearches = ['random', 'hill-climb', 'cma-es', 'gp'] as const;
const programSearches = ['random', 'genetic'] as const;

/** Config sections that also apply to baselines, which reject some of the others. */
const sharedKeys: readonly string[] = [
  ...(['environment', 'policy', 'seed', 'iterations', 'candidates', 'target', 'limits', 'warmup'] as const),
  ...(['evaluation', 'confirmation', 'record', 'name'] as const),
] satisfies readonly (keyof ConfigInput)[];

/** Returns the baselines of a setting, with the same budget (rounded) and values in the sections that they read. */
export function baselinesFor({ config, values }: SweepSetting): readonly SweepSetting[] {
  const names: readonly BaselineName[] =
    config.policy?.kind === 'program' ? programSearches : numericSearches;
  const isShared = ([key]: readonly [string, unknown]) => sharedKeys.includes(key.split('.', 1)[0]!);
  const sections = Object.fromEntries(Object.entries(config).filter(isShared));
  const sharedValues = Object.fromEntries(Object.entries(values).filter(isShared));
  // Stages add evaluations, too.
  const iterations = Math.round(plannedEvaluations(config) / config.candidates);
  const iterationValue = iterations !== config.iterations && { iterations: String(iterations) };
  return names.map((baseline) => ({
    ...createSetting({ baseline, ...sharedValues, ...iterationValue }),
    config: parseConfig({ ...sections, model: { provider: baseline }, iterations }),
    baseline,
    comparedWith: [],
  }));
}

/**
 * Compares each setting of each task with its baselines, paired by seed. All of these differences share Holm's
 * correction.
 */
export function compareWithBaselines(
  tasks: readonly { readonly settings: readonly SettingFigures[]; readonly range: Interval }[],
): readonly (readonly GroupDifference[])[] {
  return judgeDifferences(
    tasks.map(({ range, settings }) =>
      settings.flatMap((of) =>
        of.comparedWith.flatMap((name) => {
          const reference = settings.find((one) => one.name === name)!;
          const labels = { of: settingName(of), against: baselineLabel(reference.baseline!) };
          const reason = failureCaution({ ...of, name: labels.of }, { ...reference, name: labels.against });
          return pairedDifference({ ...labels, reason }, of.returns, reference.returns, range);
        }),
      ),
    ),
  );
}
