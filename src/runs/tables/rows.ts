/** Columns and rows of the tables for `export`. */

import { largest, smallest } from '../../statistics/descriptive.js';
import type { CallRecord } from '../calls.js';
import type { GameRecord } from '../events.js';
import type { RunPlace } from '../listing/scan.js';
import { structureText } from '../program-text.js';
import { openLogs } from '../reader.js';

/** Names of SQL types. Exported files contain lists as JSON. */
export type ColumnType = 'VARCHAR' | 'INTEGER' | 'BIGINT' | 'DOUBLE' | 'TIMESTAMP' | 'DOUBLE[]' | 'VARCHAR[]';

export interface DataColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** Description for the docs. */
  readonly about: string;
}

const column = (name: string, type: ColumnType, about: string): DataColumn => ({ name, type, about });

const run = column('run', 'VARCHAR', 'name of the run, as shown by `policyloop list`');
const place = [
  run,
  column('iteration', 'INTEGER', '0 for the warm-up, then 1, 2, …'),
  column('candidate', 'INTEGER', '0-based index among the candidates of the iteration'),
];

export type TableName = 'runs' | 'evaluations' | 'episodes' | 'calls';

export const tables = {
  runs: [
    run,
    column('environment', 'VARCHAR', 'id of the environment'),
    column(
      'model',
      'VARCHAR',
      'id of the model; `baseline/…` for a baseline, `player/…` for an agent run without one',
    ),
    column('seed', 'BIGINT', 'root seed of the run'),
    column('status', 'VARCHAR', 'completed, running, interrupted, failed or crashed'),
    column('iterations', 'INTEGER', 'complete iterations or, for `policyloop play`, games'),
    column('planned', 'INTEGER', 'planned iterations or games'),
    column('best', 'DOUBLE', 'highest observed mean return (biased upwards)'),
    column(
      'confirmed',
      'DOUBLE',
      'mean return of the chosen policy on unseen episodes or, for `policyloop play`, of all games',
    ),
    column('confirmed_low', 'DOUBLE', 'lower end of its 95 % interval'),
    column('confirmed_high', 'DOUBLE', 'upper end of its 95 % interval'),
    column('calls', 'INTEGER', 'model calls'),
    column('failed_calls', 'INTEGER', 'calls without a completion'),
    column('prompt_tokens', 'BIGINT', 'tokens of all prompts'),
    column('cached_tokens', 'BIGINT', "prompt tokens read from the provider's cache"),
    column('completion_tokens', 'BIGINT', 'tokens of all replies'),
    column('cost', 'DOUBLE', 'in US dollars, or in the currency of `model.price`'),
    column('minutes', 'DOUBLE', 'total running time'),
    column('started', 'TIMESTAMP', 'start time, in UTC'),
    column('tags', 'VARCHAR[]', 'tags set with `policyloop tag`'),
  ],
  evaluations: [
    ...place,
    column('source', 'VARCHAR', 'warm-up, imported or proposal'),
    column('revises', 'INTEGER', 'for a revision: the candidate that it revises'),
    column('score', 'DOUBLE', 'mean return'),
    column('episodes', 'INTEGER', 'episodes played'),
    column('lowest', 'DOUBLE', 'lowest episode return'),
    column('highest', 'DOUBLE', 'highest episode return'),
    column('steps', 'BIGINT', 'total steps of its episodes'),
    column('parameters', 'DOUBLE[]', 'parameters of the policy; for a program, its constants'),
    column('program', 'VARCHAR', 'source of the program'),
    column('structure', 'VARCHAR', 'equal for programs that differ only in constants, comments and layout'),
  ],
  episodes: [
    ...place,
    column('episode', 'INTEGER', '0-based index within the evaluation'),
    column('return', 'DOUBLE', 'undiscounted return'),
    column('length', 'INTEGER', 'length in steps'),
  ],
  calls: [
    ...place,
    column(
      'attempt',
      'INTEGER',
      '0 for the first call, then 1, 2, … for corrections; for `policyloop play`, 0-based turn of the game',
    ),
    column('time', 'TIMESTAMP', 'time when the call ended, in UTC'),
    column(
      'purpose',
      'VARCHAR',
      'proposal, correction (of a proposal) or the name of a stage; meaningless for `policyloop play`',
    ),
    column('member', 'VARCHAR', 'portfolio member that was called'),
    column('outcome', 'VARCHAR', 'accepted, rejected or error'),
    column('fault', 'VARCHAR', 'why the reply was rejected, or the kind of error'),
    column('predicted', 'DOUBLE', 'return predicted by an accepted reply'),
    column('prompt_tokens', 'BIGINT', 'tokens of the prompt, as counted by the provider'),
    column('cached_tokens', 'BIGINT', "prompt tokens read from the provider's cache"),
    column('completion_tokens', 'BIGINT', 'tokens of the reply'),
    column('latency_ms', 'DOUBLE', 'wall time, including retries'),
    column('retries', 'INTEGER', 'attempts after the first'),
    column('cost', 'DOUBLE', 'in US dollars, or in the currency of `model.price`'),
    column('reply', 'VARCHAR', 'the answer, without hidden reasoning'),
  ],
} as const satisfies Readonly<Record<TableName, readonly DataColumn[]>>;

export type Row = Readonly<Record<string, string | number | null | readonly (string | number)[]>>;

export function runRow({ item, summary: { manifest } }: RunPlace): Row {
  const { usage } = manifest;
  return {
    run: item.name,
    environment: item.environment,
    model: manifest.model,
    seed: item.seed,
    status: item.status,
    iterations: item.done,
    planned: item.of,
    best: item.observed,
    confirmed: item.confirmed,
    confirmed_low: item.ci95?.[0] ?? null,
    confirmed_high: item.ci95?.[1] ?? null,
    calls: item.calls,
    failed_calls: usage.errors ?? 0,
    prompt_tokens: usage.promptTokens,
    cached_tokens: usage.cachedTokens ?? 0,
    completion_tokens: usage.completionTokens,
    cost: item.cost,
    minutes: item.minutes,
    started: item.started,
    tags: item.tags,
  };
}

/** Yields the rows of an exported table for one run; skips broken lines. */
export function* rowsOf(table: Exclude<TableName, 'runs'>, run: RunPlace): Generator<Row, void> {
  const recorded = openLogs(run.path, true);
  const own = { run: run.item.name };
  switch (table) {
    case 'evaluations':
      for (const entry of recorded.entries) {
        const { candidate, iteration, lengths, parameters, program, returns, score, source } = entry;
        yield {
          ...own,
          iteration,
          candidate,
          source,
          revises: entry.revises ?? null,
          score,
          episodes: returns.length,
          lowest: smallest(returns),
          highest: largest(returns),
          steps: lengths.reduce((sum, length) => sum + length, 0),
          parameters: program === undefined ? parameters : parameters.slice(1),
          program: program ?? null,
          structure: program === undefined ? null : structureText(parameters),
        };
      }
      break;
    case 'episodes':
      for (const { candidate, iteration, lengths, returns } of recorded.entries)
        for (const [episode, earned] of returns.entries())
          yield { ...own, iteration, candidate, episode, return: earned, length: lengths[episode]! };
      if (run.summary.manifest.play === undefined) break;
      // The episodes of an agent run are recorded as games.
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
    iteration,
    candidate,
    attempt,
    time,
    purpose: call.purpose,
    member: call.member ?? null,
    outcome: outcome.kind,
    fault: outcome.kind === 'rejected' ? outcome.failure.kind : (failed?.error ?? null),
    predicted: accepted?.predicted ?? null,
    prompt_tokens: usage?.promptTokens ?? null,
    cached_tokens: usage?.cachedTokens ?? null,
    completion_tokens: usage?.completionTokens ?? null,
    latency_ms: (completion ?? failed)?.latencyMs ?? null,
    retries: (completion ?? failed)?.retries ?? null,
    cost: call.cost ?? null,
    reply: completion?.text ?? null,
  };
}
