/** Columns and rows of the tables for `query` and `export`. */

import { largest, smallest } from '../../statistics/descriptive.js';
import { type CallRecord, purposeOf } from '../calls.js';
import type { GameRecord } from '../events.js';
import { type ListedRun, resultOfLine } from '../listing/listing.js';
import { openLogs } from '../reader.js';

/** Names of DuckDB types. Lists become JSON in files. */
export type ColumnType =
  | 'VARCHAR'
  | 'INTEGER'
  | 'BIGINT'
  | 'DOUBLE'
  | 'TIMESTAMP'
  | 'DOUBLE[]'
  | 'VARCHAR[]'
  | 'JSON';

export interface DataColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** Description for the docs. */
  readonly about: string;
}

const column = (name: string, type: ColumnType, about: string): DataColumn => ({ name, type, about });

const run = column('run', 'VARCHAR', 'name of the run, as `policyloop list` gives it');
const place = [
  run,
  column('iteration', 'INTEGER', '0 for the warm-up, then 1, 2, …'),
  column('candidate', 'INTEGER', 'place among the candidates of the iteration, from 0'),
];

export const tables = {
  runs: [
    run,
    column('environment', 'VARCHAR', 'id of the environment'),
    column('model', 'VARCHAR', 'id of the model, or `control/…`'),
    column('seed', 'BIGINT', 'root seed of the run'),
    column('status', 'VARCHAR', 'completed, running, paused, interrupted, failed or crashed'),
    column('iterations', 'INTEGER', 'complete iterations (games of a play)'),
    column('planned', 'INTEGER', 'iterations that it shall have'),
    column('best', 'DOUBLE', 'highest observed mean return: selected on noise'),
    column('confirmed', 'DOUBLE', 'mean return of the chosen policy on untouched seeds'),
    column('confirmed_low', 'DOUBLE', 'lower end of its 95 % interval'),
    column('confirmed_high', 'DOUBLE', 'upper end of its 95 % interval'),
    column('calls', 'INTEGER', 'calls of the model'),
    column('failed_calls', 'INTEGER', 'calls that gave no completion'),
    column('prompt_tokens', 'BIGINT', 'tokens of all prompts'),
    column('cached_tokens', 'BIGINT', "part of them that came from the provider's cache"),
    column('completion_tokens', 'BIGINT', 'tokens of all replies'),
    column('cost', 'DOUBLE', 'in the currency of `model.price`'),
    column('minutes', 'DOUBLE', 'time spent running, over all resumptions'),
    column('started', 'TIMESTAMP', 'when it began, in UTC'),
    column('tags', 'VARCHAR[]', 'of `policyloop tag`'),
    column('note', 'VARCHAR', 'of `policyloop note`'),
  ],
  evaluations: [
    ...place,
    column('source', 'VARCHAR', 'warm-up, imported or proposal'),
    column('revises', 'INTEGER', 'of a revision by the critic: the candidate that it revises'),
    column('rating', 'INTEGER', 'of feedback: from 1, bad, to 5, good'),
    column('remark', 'VARCHAR', 'of feedback: what was said of an episode'),
    column('score', 'DOUBLE', 'mean return'),
    column('episodes', 'INTEGER', 'episodes that were played'),
    column('planned', 'INTEGER', 'episodes that were planned, where racing cut it short'),
    column('lowest', 'DOUBLE', 'lowest return of an episode'),
    column('highest', 'DOUBLE', 'highest return of an episode'),
    column('steps', 'BIGINT', 'steps of all its episodes'),
    column('parameters', 'DOUBLE[]', 'parameters of the policy'),
  ],
  episodes: [
    ...place,
    column('episode', 'INTEGER', 'place within the evaluation, from 0'),
    column('return', 'DOUBLE', 'undiscounted return'),
    column('length', 'INTEGER', 'steps'),
  ],
  calls: [
    ...place,
    column('attempt', 'INTEGER', '0 for the first ask, then 1, 2, … for corrections of the format'),
    column('time', 'TIMESTAMP', 'when it was made, in UTC'),
    column('purpose', 'VARCHAR', 'what it is for: proposal, correction (of a proposal), critic or feedback'),
    column('member', 'VARCHAR', 'of a portfolio: who answered'),
    column(
      'behind',
      'INTEGER',
      'iterations before it of which its prompt showed nothing yet, with `pipeline`',
    ),
    column('outcome', 'VARCHAR', 'accepted, rejected or error'),
    column('fault', 'VARCHAR', 'what was wrong with the reply, or the kind of the error'),
    column('moved', 'DOUBLE', 'where `novelty` moved the proposal away: how far it was from what was tried'),
    column('predicted', 'DOUBLE', 'the return that an accepted reply predicts'),
    column('prompt_tokens', 'BIGINT', 'tokens of the prompt, as the provider counts them'),
    column('cached_tokens', 'BIGINT', "part of them that came from the provider's cache"),
    column('completion_tokens', 'BIGINT', 'tokens of the reply'),
    column('latency_ms', 'DOUBLE', 'wall time, retries included'),
    column('retries', 'INTEGER', 'tries beyond the first'),
    column('cost', 'DOUBLE', 'in the currency of `model.price`'),
    column('reply', 'VARCHAR', 'the answer, without hidden reasoning'),
  ],
  steps: [
    ...place,
    column('episode', 'INTEGER', 'place within the evaluation, from 0'),
    column('step', 'INTEGER', 'from 0'),
    column('observation', 'JSON', 'what the policy saw'),
    column('action', 'JSON', 'what it did'),
    column('reward', 'DOUBLE', 'what it got'),
  ],
} as const satisfies Readonly<Record<string, readonly DataColumn[]>>;

export type TableName = keyof typeof tables;

export type Row = Readonly<Record<string, string | number | null | readonly (string | number)[]>>;

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

/** Rows of an exported table for one run; broken lines are skipped. */
export function* rowsOf(table: Exclude<TableName, 'runs' | 'steps'>, run: ListedRun): Generator<Row, void> {
  const recorded = openLogs(run.path, true);
  const own = { run: run.name };
  switch (table) {
    case 'evaluations':
      for (const entry of recorded.entries) {
        const { candidate, feedback, iteration, lengths, parameters, returns, score, source } = entry;
        yield {
          ...{ ...own, iteration, candidate, source, revises: entry.revises ?? null },
          ...{ rating: feedback?.rating ?? null, remark: feedback?.remark ?? null },
          ...{ score, episodes: returns.length, planned: entry.planned ?? null },
          ...{ lowest: smallest(returns), highest: largest(returns) },
          ...{ steps: lengths.reduce((sum, length) => sum + length, 0), parameters },
        };
      }
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
      for (const call of recorded.calls) yield { ...own, ...callRow(call) };
      break;
  }
}

function callRow(call: CallRecord): Row {
  const { attempt, candidate, completion, iteration, outcome, time } = call;
  const usage = completion?.usage;
  const failed = outcome.kind === 'error' ? outcome : undefined;
  const accepted = outcome.kind === 'accepted' ? outcome : undefined;
  return {
    ...{ iteration, candidate, attempt, time, purpose: purposeOf(call), member: call.member ?? null },
    ...{ behind: call.behind ?? 0, outcome: outcome.kind },
    fault: outcome.kind === 'rejected' ? outcome.failure.kind : (failed?.error ?? null),
    ...{ moved: accepted?.moved?.distance ?? null, predicted: accepted?.predicted ?? null },
    ...{ prompt_tokens: usage?.promptTokens ?? null, cached_tokens: usage?.cachedTokens ?? null },
    completion_tokens: usage?.completionTokens ?? null,
    latency_ms: (completion ?? failed)?.latencyMs ?? null,
    retries: (completion ?? failed)?.retries ?? null,
    ...{ cost: call.cost ?? null, reply: completion?.text ?? null },
  };
}
