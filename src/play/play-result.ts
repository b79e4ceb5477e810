/** The result of a play, as JSON and as text. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { shownPath } from '../base/context.js';
import { formatInterval, formatReturn, plural } from '../format/numbers.js';
import type { Cap, UsageTotals } from '../runs/calls.js';
import type { StopReason } from '../runs/events.js';
import { openLogs, type RunStatus, runFiles } from '../runs/reader.js';
import { describeReason, summaryOf, formatCaps, formatFaults, formatUsage } from '../runs/summary.js';
import { type PlayFigures, playFigures } from './play-figures.js';
import { gamesOf } from './play-games.js';

/** The last line of `--json`. */
export interface PlayResult extends PlayFigures {
  /** Path of the run directory. */
  readonly run: string;
  readonly status: RunStatus;
  readonly reason?: StopReason;
  readonly environment: string;
  readonly player: string;
  readonly model: string;
  /** Number of games in the config. */
  readonly of: number;
  readonly usage: UsageTotals;
  readonly caps?: readonly Cap[];
  readonly report: string;
}

/** The last line of `--json` if games end with an error. */
export interface FailedPlay extends Omit<PlayResult, 'status'> {
  readonly status: 'failed';
  readonly error: string;
}

/** @param cwd directory to which paths are relative */
export function playResult(path: string, cwd: string): PlayResult {
  const { manifest, status } = summaryOf(path);
  return {
    run: shownPath(path, cwd),
    status,
    ...(manifest.reason && { reason: manifest.reason }),
    environment: manifest.environment,
    player: manifest.play?.player ?? 'model',
    model: manifest.model,
    of: manifest.iterations.of,
    ...playFigures(gamesOf(openLogs(path, true))),
    usage: manifest.usage,
    ...(manifest.caps && { caps: manifest.caps }),
    report: shownPath(join(path, runFiles.report), cwd),
  };
}

export function playText(result: PlayResult, cwd: string): string {
  const { caps, games, maxScore, meanScore, of, returnCi95, scoreCi95, usage } = result;
  const played = games === of ? plural(games, 'game') : `${games} of ${plural(of, 'game')}`;
  const ended = describeReason(result);
  const who = result.player === 'model' ? result.model : result.player;
  const lines = [
    `${styleText('bold', ended)}: ${played} of ${result.environment} by ${who}`,
    ...(meanScore === null ? [] : [`score       ${average(meanScore, scoreCi95)}${ofMost(maxScore)}`]),
    `return      ${average(result.meanReturn, returnCi95)}`,
    ...(result.won === null ? [] : [`won         ${percent(result.won)}, lost ${percent(result.lost ?? 0)}`]),
    ...(result.meanLength === null
      ? []
      : [`length      ${formatReturn(result.meanLength)} steps${cut(result.truncated)}`]),
    ...(result.unclear ? [`unclear     ${percent(result.unclear)} of the replies named no action`] : []),
    ...(usage.calls === 0 ? [] : [`usage       ${formatUsage(usage)}`]),
    ...(caps ? [`limits      ${formatCaps(caps)}`] : []),
    ...(usage.faults && Object.keys(usage.faults).length > 0
      ? [`faults      ${formatFaults(usage.faults)}`]
      : []),
    `run         ${result.run}`,
    ...(existsSync(join(cwd, result.report)) || existsSync(result.report)
      ? [`report      ${result.report}`]
      : []),
  ];
  return lines.join('\n');
}

/** A mean, with its 95% interval if there is one. */
function average(value: number | null, interval: readonly [number, number] | null): string {
  if (value === null) return '–';
  return `${formatReturn(value)}${interval === null ? '' : `  95 % interval ${formatInterval(interval)}`}`;
}

const ofMost = (most: number | null) => (most === null ? '' : ` of ${formatReturn(most)}`);

export const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`;

const cut = (count: number) => (count === 0 ? '' : `, ${plural(count, 'game')} cut by a limit of steps`);
