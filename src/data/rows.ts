/** Rows of the tables, read from the logs of runs. */

import { type ListedRun, resultOfLine } from '../archive/listing.js';
import { purposeOf } from '../runs/calls.js';
import type { GameRecord } from '../runs/events.js';
import { openLogs } from '../runs/reader.js';
import { largest, smallest } from '../statistics/descriptive.js';
import type { TableName } from './columns.js';

export type Row = Readonly<Record<string, string | number | null | readonly (string | number)[]>>;

/** The row of a run in the table `runs`. */
export function runRow(run: ListedRun): Row {
  const { confirmed, labels, manifest, name, observed, status } = run;
  const { activeMs, created, environment, iterations, model, seed, usage } = manifest;
  return {
    ...{ run: name, environment, model, seed, status },
    ...{ iterations: iterations.done, planned: iterations.of, best: observed },
    confirmed: resultOfLine(run) ?? null,
    confirmed_low: (confirmed?.ci95 ?? manifest.play?.ci95)?.[0] ?? null,
    confirmed_high: (confirmed?.ci95 ?? manifest.play?.ci95)?.[1] ?? null,
    ...{ calls: usage.calls, failed_calls: usage.errors ?? 0 },
    ...{ prompt_tokens: usage.promptTokens, cached_tokens: usage.cachedTokens ?? 0 },
    ...{ completion_tokens: usage.completionTokens, cost: usage.cost ?? null },
    ...{ minutes: activeMs / 60_000, started: created, tags: labels.tags, note: labels.note ?? null },
  };
}

/** The rows of a run in a table that is exported. Broken lines are left out. */
export function* rowsOf(table: Exclude<TableName, 'runs' | 'steps'>, run: ListedRun): Generator<Row, void> {
  const recorded = openLogs(run.path, true);
  const own = { run: run.name };
  switch (table) {
    case 'evaluations':
      for (const {
        candidate,
        iteration,
        lengths,
        feedback,
        parameters,
        planned,
        returns,
        revises,
        score,
        source,
      } of recorded.entries)
        yield {
          ...{
            ...own,
            iteration,
            candidate,
            source,
            revises: revises ?? null,
            rating: feedback?.rating ?? null,
            remark: feedback?.remark ?? null,
            score,
            episodes: returns.length,
            planned: planned ?? null,
          },
          ...{ lowest: smallest(returns), highest: largest(returns) },
          ...{ steps: lengths.reduce((sum, length) => sum + length, 0), parameters },
        };
      break;
    case 'episodes':
      for (const { candidate, iteration, lengths, returns } of recorded.entries)
        for (const [episode, earned] of returns.entries())
          yield { ...own, iteration, candidate, episode, return: earned, length: lengths[episode]! };
      if (run.manifest.play === undefined) break;
      // The episodes of a play are games.
      for (const game of recorded.episodes as Iterable<unknown> as Iterable<GameRecord>) {
        const { candidate, episode, iteration, length, return: earned } = game;
        yield { ...own, iteration, candidate, episode, return: earned, length };
      }
      break;
    case 'calls':
      for (const {
        attempt,
        behind,
        candidate,
        completion,
        cost,
        iteration,
        member,
        outcome,
        purpose,
        time,
      } of recorded.calls)
        yield {
          ...{
            ...own,
            iteration,
            candidate,
            attempt,
            time,
            purpose: purposeOf({ attempt, purpose }),
            member: member ?? null,
            behind: behind ?? 0,
            outcome: outcome.kind,
          },
          fault:
            outcome.kind === 'rejected'
              ? outcome.failure.kind
              : outcome.kind === 'error'
                ? outcome.error
                : null,
          moved: (outcome.kind === 'accepted' ? outcome.moved?.distance : undefined) ?? null,
          predicted: (outcome.kind === 'accepted' ? outcome.predicted : undefined) ?? null,
          prompt_tokens: completion?.usage.promptTokens ?? null,
          cached_tokens: completion?.usage.cachedTokens ?? null,
          completion_tokens: completion?.usage.completionTokens ?? null,
          latency_ms: completion?.latencyMs ?? (outcome.kind === 'error' ? outcome.latencyMs : null),
          retries: completion?.retries ?? (outcome.kind === 'error' ? outcome.retries : null),
          ...{ cost: cost ?? null, reply: completion?.text ?? null },
        };
      break;
  }
}
