import { formatCost, formatNumber, plural } from '../../format/numbers.js';
import type { CallRecord } from '../../runs/calls.js';
import type { FeedbackResult, LoggedEvent } from '../../runs/events.js';
import { mean } from '../../statistics/descriptive.js';

/** The feedback given during a run, and its cost. */
export interface FeedbackFigures {
  /** Questions, in order. */
  readonly results: readonly FeedbackResult[];
  /** Number of questions answered. */
  readonly given: number;
  /** Mean rating; null if none was given. */
  readonly rating: number | null;
  /** Included in the usage of the run. */
  readonly calls: number;
  readonly tokens: number;
  /** Absent without a price. */
  readonly cost?: number;
}

/** Undefined if nobody was asked. */
export function feedbackFigures(
  events: Iterable<LoggedEvent>,
  calls: Iterable<CallRecord>,
): FeedbackFigures | undefined {
  const results: FeedbackResult[] = [];
  for (const event of events) {
    if (event.kind !== 'feedback') continue;
    // If an iteration was not fully recorded, its question is asked again.
    if (results.at(-1)?.iteration === event.iteration) results.pop();
    const { time: _, lines: __, ...result } = event;
    results.push(result);
  }
  const used = { calls: 0, tokens: 0 };
  let cost: number | undefined;
  for (const call of calls) {
    if (call.purpose !== 'feedback') continue;
    const { promptTokens = 0, completionTokens = 0 } = call.completion?.usage ?? {};
    used.calls++;
    used.tokens += promptTokens + completionTokens;
    if (call.cost !== undefined) cost = (cost ?? 0) + call.cost;
  }
  if (results.length + used.calls === 0) return undefined;
  const ratings = results.flatMap(({ rating }) => (rating === undefined ? [] : [rating]));
  return {
    results,
    given: results.filter(({ result }) => result === 'given').length,
    rating: ratings.length === 0 ? null : mean(ratings),
    ...used,
    ...(cost !== undefined && { cost }),
  };
}

/** Example: `12 questions: 9 answered, mean rating 3.4 of 5; 12 calls, 3.1k tokens of the usage`. */
export function feedbackFiguresText({
  calls,
  cost,
  given,
  rating,
  results,
  tokens,
}: FeedbackFigures): string {
  const used = [
    plural(calls, 'call'),
    ...(tokens === 0 ? [] : [`${formatNumber(tokens)} tokens`]),
    ...(cost === undefined ? [] : [`cost ${formatCost(cost)}`]),
  ];
  const rated = rating === null ? '' : `, mean rating ${formatNumber(rating, 2)} of 5`;
  return `${plural(results.length, 'question')}: ${given} answered${rated}; ${used.join(', ')} of the usage`;
}
