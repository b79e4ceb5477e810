/** Verbal conclusions of an evaluation, derived from its intervals. */

import { manyRuns, verdictSentence } from '../../src/comparison/words.js';
import { plural } from '../../src/format/numbers.js';
import type { PairedComparison } from '../../src/statistics/paired.js';
import type { Verdict } from '../../src/statistics/tests.js';
import type { Evaluation, Familiarity, GroupResult } from './evaluation.js';

export interface Conclusion {
  /** The experiments that the conclusion covers. */
  readonly scope: string;
  readonly verdict: Verdict | 'nothing';
  readonly text: string;
}

/**
 * Conclusions, the main one first. With a single experiment it is about plain returns, with several about
 * normalized ones, followed by separate conclusions for environments that were and weren't trained on.
 */
export function conclusions({ experiments, groups }: Evaluation): readonly Conclusion[] {
  const [only] = experiments;
  const all = groups.find(({ group }) => group === 'all');
  if (only === undefined || all === undefined) {
    return [{ scope: 'all', verdict: 'nothing', text: 'Nothing has been played yet.' }];
  }
  if (experiments.length === 1) {
    const scope = `${only.environment}${familiarityText[only.familiarity]}`;
    return [conclude(scope, onReturns(only.comparisons), 'confirmed return')];
  }
  const parts = groups.filter(({ group }) => group !== 'all');
  return [all, ...parts].map((group) =>
    conclude(scopes[group.group](group), onReturns(group.comparisons), 'normalised confirmed return'),
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

/** Caveats that weaken the comparison, per model. */
export function cautions({ arms, runs }: Evaluation): readonly string[] {
  return arms.flatMap(({ name }) => {
    const complete = runs.flatMap(({ arm, figures }) =>
      arm === name && figures?.isOver === true ? [figures] : [],
    );
    const early = complete.filter(({ stoppedEarly }) => stoppedEarly);
    const without = complete.filter(({ confirmed }) => confirmed === null);
    const proposals = complete.reduce((sum, figures) => sum + figures.proposals, 0);
    const lost = proposals - complete.reduce((sum, figures) => sum + figures.answered, 0);
    const of = `of its ${plural(complete.length, 'run')}`;
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

/** The comparison of confirmed returns between the tuned model and the base. */
export const onReturns = (comparisons: GroupResult['comparisons']) =>
  comparisons.find(({ of, against }) => of === 'tuned' && against === 'base')?.metrics.confirmed ?? null;

function conclude(scope: string, comparison: PairedComparison | null, quantity: string): Conclusion {
  if (comparison === null) {
    return {
      scope,
      verdict: 'nothing',
      text: 'No pair of runs is complete, so there is nothing to compare.',
    };
  }
  const { pairs, verdict } = comparison;
  const told = { ...comparison, of: 'tuned', against: 'base', test: 'paired', counts: [pairs] } as const;
  const more = verdict === 'too-few' ? ` --repeats ${manyRuns} goes on from these.` : '';
  return { scope, verdict, text: `${verdictSentence(told, quantity)}${more}` };
}
