/** Summary figures of a play's games. */
import type { GameRecord } from '../runs/events.js';
import { unbounded } from '../statistics/bootstrap.js';
import { largest, mean } from '../statistics/descriptive.js';
import { summarize } from '../statistics/paired.js';

export interface PlayFigures {
  readonly games: number;
  /** Null before the first game. */
  readonly meanReturn: number | null;
  /** 95% interval of the mean; null for fewer than two games. */
  readonly returnCi95: readonly [number, number] | null;
  /** Null if the environment has no score. */
  readonly meanScore: number | null;
  readonly scoreCi95: readonly [number, number] | null;
  /** Mean of the maximum scores; null if unknown. */
  readonly maxScore: number | null;
  /** Shares of the games; null if the environment reports neither. */
  readonly won: number | null;
  readonly lost: number | null;
  /** In steps. */
  readonly meanLength: number | null;
  /** Number of games cut off by a step limit. */
  readonly truncated: number;
  /** Share of replies that named no action; null without a model. */
  readonly unclear: number | null;
}

/** Only the means, for a play in progress: intervals over hundreds of games would take longer than the games. */
export function playMeans(games: readonly GameRecord[]): Pick<PlayFigures, 'meanReturn' | 'meanScore'> {
  const scores = games.flatMap(({ score }) => score ?? []);
  return {
    meanReturn: games.length === 0 ? null : mean(games.map((game) => game.return)),
    meanScore: scores.length === 0 ? null : mean(scores),
  };
}

export function playFigures(games: readonly GameRecord[]): PlayFigures {
  const returns = summarize(games.map((game) => game.return));
  const scored = games.flatMap(({ score }) => score ?? []);
  const most = games.flatMap(({ maxScore }) => maxScore ?? []);
  // A score is between 0 and the maximum score.
  const isBounded = most.length === games.length && scored.every((score) => score >= 0);
  const score = summarize(scored, isBounded ? [0, largest(most)] : unbounded);
  const share = (of: (game: GameRecord) => boolean | undefined) => {
    const known = games.map(of).filter((value) => value !== undefined);
    return known.length === 0 ? null : known.filter(Boolean).length / known.length;
  };
  const replies = games.flatMap(({ turns }) => turns.flatMap(({ valid }) => valid ?? []));
  return {
    games: games.length,
    meanReturn: returns?.mean ?? null,
    returnCi95: returns?.meanInterval ?? null,
    meanScore: score?.mean ?? null,
    scoreCi95: score?.meanInterval ?? null,
    maxScore: most.length === 0 ? null : mean(most),
    won: share(({ won }) => won),
    lost: share(({ lost }) => lost),
    meanLength: games.length === 0 ? null : mean(games.map(({ length }) => length)),
    truncated: games.filter(({ truncated }) => truncated).length,
    unclear: replies.length === 0 ? null : replies.filter((valid) => !valid).length / replies.length,
  };
}
