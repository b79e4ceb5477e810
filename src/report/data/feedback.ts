import { formatNumber, plural } from '../../format/numbers.js';
import type { CallRecord } from '../../runs/calls.js';
import type { FeedbackResult, LoggedEvent } from '../../runs/events.js';
import { mean } from '../../statistics/descriptive.js';
import { type StageUsage, usedFor, usedText } from './stage-usage.js';

/** What was said of the episodes of a run, and what that took. */
export interface FeedbackFigures extends StageUsage {
  /** Questions, in their order. */
  readonly results: readonly FeedbackResult[];
  /** Number of questions answered. */
  readonly given: number;
  /** Mean rating; null if none was given. */
  readonly rating: number | null;
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
  const used = usedFor('feedback', calls);
  if (results.length + used.calls === 0) return undefined;
  const ratings = results.flatMap(({ rating }) => (rating === undefined ? [] : [rating]));
  return {
    results,
    given: results.filter(({ result }) => result === 'given').length,
    rating: ratings.length === 0 ? null : mean(ratings),
    ...used,
  };
}

/** `12 questions: 9 answered, mean rating 3.4 of 5; 12 calls, 3.1k tokens of the usage` */
export function feedbackFiguresText(figures: FeedbackFigures): string {
  const { given, rating, results } = figures;
  const rated = rating === null ? '' : `, mean rating ${formatNumber(rating, 2)} of 5`;
  return `${plural(results.length, 'question')}: ${given} answered${rated}; ${usedText(figures)}`;
}
