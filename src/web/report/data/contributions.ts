import { formatCost, formatNumber, plural } from '../../../base/text/numbers.js';
import { type CallRecord, stageOf, type UsageTotals } from '../../../runs/calls.js';
import type { LoggedEvent, Revision } from '../../../runs/events.js';
import { sumUsage, usageOfCall } from '../../../runs/usage.js';
import { largest, mean } from '../../../statistics/descriptive.js';
import type { LoggedProposal } from './proposals.js';

/** The contribution of revisions to a run. */
export interface RevisionFigures {
  /** Number of requests for revisions. */
  readonly asked: number;
  /** Number of revisions that scored higher than the original. */
  readonly better: number;
  readonly noBetter: number;
  /** Number of revisions that left the parameters unchanged. */
  readonly kept: number;
  /** Number of requests without a usable revision. */
  readonly rejected: number;
  /** Mean change in the score over all evaluated revisions; null if there are none. */
  readonly change: number | null;
  /** Mean distance from the original parameters, in [0, 1]; null if no revision was evaluated. */
  readonly distance: number | null;
  readonly calls: number;
  readonly tokens: number;
  /** Absent if no call has a price. */
  readonly cost?: number;
}

const meanOf = (values: readonly number[]) => (values.length === 0 ? null : mean(values));

/** Summarises the revisions; undefined if none was requested. */
export function revisionFigures(
  events: Iterable<LoggedEvent>,
  calls: Iterable<CallRecord>,
): RevisionFigures | undefined {
  const revisions: Revision[] = [];
  for (const event of events) if (event.kind === 'revised') revisions.push(event);
  const usages: UsageTotals[] = [];
  for (const call of calls)
    if (stageOf(call) !== 'proposal') usages.push(usageOfCall(call, 0, call.cost !== undefined));
  if (revisions.length + usages.length === 0) return undefined;
  const usage = sumUsage(usages);
  const count = (result: Revision['result']) => revisions.filter((one) => one.result === result).length;
  const changes = revisions.flatMap(({ after, before, distance }) =>
    after === undefined ? [] : { change: after - before, distance: distance ?? 0 },
  );
  return {
    asked: revisions.length,
    better: count('better'),
    noBetter: count('no-better'),
    kept: count('kept'),
    rejected: count('rejected'),
    change: meanOf(changes.map(({ change }) => change)),
    distance: meanOf(changes.map(({ distance }) => distance)),
    calls: usage.calls,
    tokens: usage.promptTokens + usage.completionTokens,
    ...(usage.cost !== undefined && { cost: usage.cost }),
  };
}

/** Example: `12 times: 5 better, 7 not better; mean change 3.1 in return, 8 % of the range in parameters; …`. */
export function revisionText(figures: RevisionFigures): string {
  const { asked, better, change, distance, kept, noBetter, rejected } = figures;
  const results = Object.entries({ better, 'not better': noBetter, unchanged: kept, rejected })
    .filter(([name, count]) => count > 0 || name.endsWith('better'))
    .map(([name, count]) => `${count} ${name}`);
  const changeText =
    change === null || distance === null
      ? ''
      : `; mean change ${formatNumber(change, 3)} in return, ${Math.round(100 * distance)} % of the range in parameters`;
  return `${plural(asked, 'time')}: ${results.join(', ')}${changeText}; ${usageText(figures)}`;
}

/** Example: `12 calls, 3140 tokens, cost 0.0123 (included in usage)`. */
function usageText({ calls, cost, tokens }: RevisionFigures): string {
  const usageTexts = [
    plural(calls, 'call'),
    ...(tokens === 0 ? [] : [`${formatNumber(tokens)} tokens`]),
    ...(cost === undefined ? [] : [`cost ${formatCost(cost)}`]),
  ];
  return `${usageTexts.join(', ')} (included in usage)`;
}

/** Contribution of a portfolio member, relay leg or tuning search to a run. */
export interface MemberFigures {
  readonly member: string;
  /** Number of candidates requested from the member. */
  readonly candidates: number;
  /** Number of its candidates that were evaluated. */
  readonly evaluated: number;
  /** Number of its evaluations that beat all earlier ones. */
  readonly improved: number;
  /** Its share of all members' new bests, in [0, 1]; 0 if there are none. */
  readonly share: number;
  /** Mean and maximum of its scores; null if nothing was evaluated. */
  readonly mean: number | null;
  readonly best: number | null;
}

/** True if a member is a leg of a relay. */
const isLeg = ({ member }: Pick<MemberFigures, 'member'>): boolean => member.startsWith('leg ');

/** Summarises the members, most new bests first, or the legs in order; empty if the run has none. */
export function memberFigures(proposals: readonly LoggedProposal[]): readonly MemberFigures[] {
  const total = proposals.filter(({ improved, member }) => improved && member !== undefined).length;
  const names = new Set(proposals.flatMap(({ member }) => member ?? []));
  const figures = [...names].map((member): MemberFigures => {
    const ownProposals = proposals.filter((proposal) => proposal.member === member);
    const scores = ownProposals.flatMap(({ entry }) => entry?.score ?? []);
    const improved = ownProposals.filter((proposal) => proposal.improved).length;
    return {
      member,
      candidates: ownProposals.length,
      evaluated: scores.length,
      improved,
      share: total === 0 ? 0 : improved / total,
      mean: meanOf(scores),
      best: scores.length === 0 ? null : largest(scores),
    };
  });
  const rank = (one: MemberFigures) => (isLeg(one) ? 0 : -one.improved);
  return figures.toSorted((a, b) => rank(a) - rank(b) || (isLeg(a) ? 0 : a.member < b.member ? -1 : 1));
}
