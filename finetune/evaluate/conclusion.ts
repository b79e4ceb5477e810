/** What an evaluation says, in words that follow from its intervals. */

import { formatReturn, plural } from '../../src/format/numbers.js';
import { fewestPairs, type PairedComparison, type Verdict } from '../../src/statistics/paired.js';
import type { Evaluation, Familiarity, GroupResult } from './evaluate.js';

/** Pairs from which small samples need no word of warning. */
const manyPairs = 10;

export interface Conclusion {
  /** What it is about. */
  readonly scope: string;
  readonly verdict: Verdict | 'nothing';
  readonly text: string;
}

/**
 * The main conclusion first: of the only experiment in its own returns, of several in normalised ones. Then those of
 * the environments that were trained on, and those that were not.
 */
export function conclusions({ experiments, groups }: Evaluation): readonly Conclusion[] {
  const [only] = experiments;
  const all = groups.find(({ group }) => group === 'all');
  if (only === undefined || all === undefined) {
    return [{ scope: 'all', verdict: 'nothing', text: 'Nothing has been played yet.' }];
  }
  if (experiments.length === 1) {
    const scope = `${only.environment}${familiarityText[only.familiarity]}`;
    return [conclude(scope, onReturns(only.comparisons), 'in return')];
  }
  const parts = groups.filter(({ group }) => group !== 'all');
  return [all, ...parts].map((group) =>
    conclude(scopes[group.group](group), onReturns(group.comparisons), 'in normalised return'),
  );
}

const familiarityText: Readonly<Record<Familiarity, string>> = {
  trained: ', trained on',
  transfer: ', not trained on',
  unknown: '',
};

const scopes: Readonly<Record<GroupResult['group'], (group: GroupResult) => string>> = {
  all: ({ experiments }) => `all ${plural(experiments.length, 'experiment')}`,
  trained: ({ experiments }) => `environments trained on (${plural(experiments.length, 'experiment')})`,
  transfer: ({ experiments }) =>
    `transfer, environments not trained on (${plural(experiments.length, 'experiment')})`,
};

/** What makes the comparison say less than it seems to, by model. */
export function cautions({ arms, runs }: Evaluation): readonly string[] {
  return arms.flatMap(({ name }) => {
    const complete = runs.flatMap(({ arm, figures }) =>
      arm === name && figures?.status === 'completed' ? [figures] : [],
    );
    const early = complete.filter(({ stoppedEarly }) => stoppedEarly);
    const without = complete.filter(({ confirmed }) => confirmed === null);
    const proposals = complete.reduce((sum, figures) => sum + figures.proposals, 0);
    const lost = proposals - complete.reduce((sum, figures) => sum + figures.answered, 0);
    const of = `of its ${plural(complete.length, 'complete run')}`;
    const reasons = [...new Set(early.map(({ reason }) => reason))].join('; ');
    return [
      ...(early.length === 0
        ? []
        : [`${name}: ${early.length} ${of} ended before the last iteration (${reasons}): budgets differ`]),
      ...(without.length === 0
        ? []
        : [`${name}: ${without.length} ${of} found no policy to confirm; their pairs are left out`]),
      ...(lost === 0
        ? []
        : [`${name}: ${lost} of its ${proposals} proposals got no answer: its calls failed`]),
    ];
  });
}

/** The tuned model against the base. */
export const onReturns = (comparisons: GroupResult['comparisons']) =>
  comparisons.find(({ against }) => against === 'base')?.metrics.confirmed ?? null;

/** For a column. */
export const verdictWords: Readonly<Record<Verdict, string>> = {
  higher: 'higher',
  lower: 'lower',
  'no-evidence': 'no evidence',
  'too-few': 'too few pairs',
};

function conclude(scope: string, comparison: PairedComparison | null, unit: string): Conclusion {
  if (comparison === null) {
    return {
      scope,
      verdict: 'nothing',
      text: 'No pair of runs is complete, so there is nothing to compare.',
    };
  }
  const { pairs, difference, interval, verdict } = comparison;
  const found = `tuned − base is ${signed(difference)} ${unit}`;
  const few = pairs < manyPairs ? ` ${plural(pairs, 'pair')} are few: more repeats would narrow this.` : '';
  if (verdict === 'too-few' || interval === null) {
    return {
      scope,
      verdict: 'too-few',
      text: `Too few pairs for a verdict: ${found} over ${plural(pairs, 'pair')}, and at least ${fewestPairs} are needed (--repeats ${manyPairs} goes on from these).`,
    };
  }
  const over = `95 % interval ${signed(interval[0])} … ${signed(interval[1])}, ${plural(pairs, 'pair')}`;
  switch (verdict) {
    case 'higher':
      return { scope, verdict, text: `Improvement: ${found} (${over}).${few}` };
    case 'lower':
      return { scope, verdict, text: `Worse than the base: ${found} (${over}).${few}` };
    case 'no-evidence': {
      const half = (interval[1] - interval[0]) / 2;
      const noise =
        half > 0
          ? ` A difference below about ${formatReturn(half)} can't be told from noise here.`
          : ' No pair differed.';
      return { scope, verdict, text: `No evidence of improvement: ${found} (${over}).${noise}${few}` };
    }
  }
}

/** With its sign, also where it is positive. */
export const signed = (value: number) => `${value > 0 ? '+' : ''}${formatReturn(value)}`;
