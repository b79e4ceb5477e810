/** The result of an agent run, as JSON and as text. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { formatInterval, formatReturn, plural } from '../base/text/numbers.js';
import type { GameRecord } from '../runs/events.js';
import { openLogs } from '../runs/reader.js';
import {
  describeReason,
  formatCaps,
  formatFaults,
  formatUsage,
  headlineOf,
  type RunResult,
  resultOf,
  summaryOf,
} from '../runs/summary.js';
import { realLine } from '../statistics/bootstrap.js';
import { largest, mean } from '../statistics/descriptive.js';
import { summarize } from '../statistics/paired.js';

/**
 * Last line of `--json`, and the output of `show --json`. After an error that isn't a failure of the model or
 * environment, the line also has the field `error`.
 */
export interface PlayResult extends PlayFigures, Omit<RunResult, 'iterations' | 'best' | 'confirmed'> {
  readonly environment: string;
  readonly player: string;
  readonly model: string;
  /** Number of games in the config. */
  readonly of: number;
}

/** @param cwd the result's paths below this directory are relative to it */
export function playResult(path: string, cwd: string): PlayResult {
  const summary = summaryOf(path);
  const { manifest } = summary;
  const { best: _best, confirmed: _confirmed, iterations: _iterations, ...result } = resultOf(summary, cwd);
  return {
    ...result,
    environment: manifest.environment,
    player: manifest.play?.player ?? 'model',
    model: manifest.model,
    of: manifest.iterations.of,
    ...playFigures(gamesOf(openLogs(path, true))),
  };
}

export function playText(result: PlayResult, cwd: string): string {
  const { caps, games, maxScore, meanScore, of, returnCi95, scoreCi95, usage } = result;
  const gamesText = games === of ? plural(games, 'game') : `${games} of ${plural(of, 'game')}`;
  const [headline, reason] = [headlineOf(result), describeReason(result)];
  const playerName = result.player === 'model' ? result.model : result.player;
  const hasReport = existsSync(join(cwd, result.report)) || existsSync(result.report);
  const lines = [
    `${styleText('bold', headline)}: ${gamesText} of ${result.environment} by ${playerName}`,
    ...(reason === headline ? [] : [`reason      ${reason}`]),
    ...(meanScore === null ? [] : [`score       ${meanText(meanScore, scoreCi95, ofMaximum(maxScore))}`]),
    `return      ${meanText(result.meanReturn, returnCi95)}`,
    ...(result.won === null ? [] : [`won         ${percent(result.won)}, lost ${percent(result.lost ?? 0)}`]),
    ...(result.meanLength === null
      ? []
      : [`length      ${formatReturn(result.meanLength)} steps${cutText(result.truncated)}`]),
    ...(result.unclear ? [`unclear     ${percent(result.unclear)} of the replies named no action`] : []),
    ...(usage.calls === 0 ? [] : [`usage       ${formatUsage(usage)}`]),
    ...(caps ? [`limits      ${formatCaps(caps)}`] : []),
    ...(usage.faults && Object.keys(usage.faults).length > 0
      ? [`faults      ${formatFaults(usage.faults)}`]
      : []),
    `run         ${result.run}`,
    ...(result.status === 'interrupted' ? [`resume      policyloop resume ${result.run}`] : []),
    ...(hasReport ? [`report      ${result.report}`] : []),
  ];
  return lines.join('\n');
}

/** Formats a mean, with its 95% interval if there is one. @param suffix text to append to the mean, e.g. ` of 5` */
function meanText(value: number | null, interval: readonly [number, number] | null, suffix = ''): string {
  if (value === null) return '–';
  return `${formatReturn(value)}${suffix}${interval === null ? '' : `  95 % interval ${formatInterval(interval)}`}`;
}

const ofMaximum = (maximum: number | null) => (maximum === null ? '' : ` of ${formatReturn(maximum)}`);

export const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`;

const cutText = (count: number) => (count === 0 ? '' : `, ${plural(count, 'game')} cut off by a step limit`);

export interface PlayFigures {
  readonly games: number;
  /** Null before the first game. */
  readonly meanReturn: number | null;
  /** 95% interval of the mean; null for fewer than 3 games, or fewer than 14 if at least half have the same return. */
  readonly returnCi95: readonly [number, number] | null;
  /** Null before the first game, or if the environment has no score. */
  readonly meanScore: number | null;
  readonly scoreCi95: readonly [number, number] | null;
  /** Mean of the games' maximum scores; null if unknown. */
  readonly maxScore: number | null;
  /** Shares of games won and lost; null before the first game, or if the environment doesn't report them. */
  readonly won: number | null;
  readonly lost: number | null;
  /** Mean length of a game in steps; null before the first game. */
  readonly meanLength: number | null;
  /** Number of games cut off by the environment, or by the limit on turns (`maxSteps`). */
  readonly truncated: number;
  /** Share of replies that named no action; null if there are no replies. */
  readonly unclear: number | null;
}

/** Computes the means of an agent run in progress, but no intervals, which could take longer than playing. */
export function playMeans(games: readonly GameRecord[]): Pick<PlayFigures, 'meanReturn' | 'meanScore'> {
  const scores = games.flatMap(({ score }) => score ?? []);
  return {
    meanReturn: games.length === 0 ? null : mean(games.map((game) => game.return)),
    meanScore: scores.length === 0 ? null : mean(scores),
  };
}

export function playFigures(games: readonly GameRecord[]): PlayFigures {
  const returnSummary = summarize(games.map((game) => game.return));
  const scores = games.flatMap(({ score }) => score ?? []);
  const maxScores = games.flatMap(({ maxScore }) => maxScore ?? []);
  // If all maximum scores are known and no score is negative, assume that scores range from 0 to the highest maximum.
  const isBounded = maxScores.length === games.length && scores.every((score) => score >= 0);
  const scoreSummary = summarize(scores, isBounded ? [0, largest(maxScores)] : realLine);
  const shareOf = (flagOf: (game: GameRecord) => boolean | undefined) => {
    const known = games.map(flagOf).filter((value) => value !== undefined);
    return known.length === 0 ? null : known.filter(Boolean).length / known.length;
  };
  const replies = games.flatMap(({ turns }) => turns.flatMap(({ valid }) => valid ?? []));
  return {
    games: games.length,
    meanReturn: returnSummary?.mean ?? null,
    returnCi95: returnSummary?.meanInterval ?? null,
    meanScore: scoreSummary?.mean ?? null,
    scoreCi95: scoreSummary?.meanInterval ?? null,
    maxScore: maxScores.length === 0 ? null : mean(maxScores),
    won: shareOf(({ won }) => won),
    lost: shareOf(({ lost }) => lost),
    meanLength: games.length === 0 ? null : mean(games.map(({ length }) => length)),
    truncated: games.filter(({ truncated }) => truncated).length,
    unclear: replies.length === 0 ? null : replies.filter((valid) => !valid).length / replies.length,
  };
}

/** Returns the games recorded in a run directory. */
export const gamesOf = (logs: { readonly episodes: Iterable<unknown> }): readonly GameRecord[] => [
  ...(logs.episodes as Iterable<GameRecord>),
];
