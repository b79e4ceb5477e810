import { formatNumber, plural } from '../../format/numbers.js';
import type { CallRecord } from '../../runs/calls.js';
import type { LoggedEvent, Revision } from '../../runs/events.js';
import { mean } from '../../statistics/descriptive.js';
import { type StageUsage, usedFor, usedText } from './stage-usage.js';

/** What the critic of a run brought. */
export interface RevisionFigures extends StageUsage {
  /** Proposals that it was asked to revise. */
  readonly asked: number;
  /** Revisions that scored higher than the original. */
  readonly better: number;
  readonly noBetter: number;
  /** Answers that change nothing. */
  readonly kept: number;
  /** Requests without a usable answer. */
  readonly rejected: number;
  /** Mean change of the score over all evaluated revisions; null if there are none. */
  readonly change: number | null;
  /** Mean distance from the original parameters, in [0, 1]; null if no revision was evaluated. */
  readonly distance: number | null;
}

/** Undefined if there was nothing to revise. */
export function revisionFigures(
  events: Iterable<LoggedEvent>,
  calls: Iterable<CallRecord>,
): RevisionFigures | undefined {
  const revisions: Revision[] = [];
  for (const event of events) if (event.kind === 'revised') revisions.push(event);
  const used = usedFor('critic', calls);
  if (revisions.length + used.calls === 0) return undefined;
  const count = (result: Revision['result']) => revisions.filter((one) => one.result === result).length;
  const evaluated = revisions.flatMap(({ after, before, distance }) =>
    after === undefined ? [] : { change: after - before, distance: distance ?? 0 },
  );
  const meanOf = (values: readonly number[]) => (values.length === 0 ? null : mean(values));
  return {
    asked: revisions.length,
    better: count('better'),
    noBetter: count('no-better'),
    kept: count('kept'),
    rejected: count('rejected'),
    change: meanOf(evaluated.map(({ change }) => change)),
    distance: meanOf(evaluated.map(({ distance }) => distance)),
    ...used,
  };
}

/**
 * Example: `12 revisions: 5 better, 4 not, 2 kept, 1 rejected; mean change of the return 3.1, of the parameters 8 %`.
 */
export function revisionText(figures: RevisionFigures): string {
  const { asked, better, change, distance, kept, noBetter, rejected } = figures;
  const results = [
    `${better} better`,
    `${noBetter} not`,
    ...(kept === 0 ? [] : [`${kept} kept`]),
    ...(rejected === 0 ? [] : [`${rejected} rejected`]),
  ];
  const changes =
    change === null || distance === null
      ? ''
      : `; mean change of the return ${formatNumber(change, 3)}, of the parameters ${Math.round(100 * distance)} % of their range`;
  return `${plural(asked, 'revision')}: ${results.join(', ')}${changes}; ${usedText(figures)}`;
}
