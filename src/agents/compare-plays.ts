/** Compares agent runs by their mean results, and pairs of them by the differences in the games that both played. */
import { resolve } from 'node:path';
import { append } from '../base/append.js';
import { type CommandContext, shownPath } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import { formatReturn, plural } from '../base/text/numbers.js';
import { type Column, estimate, number, tableFormats, terminalTable, text } from '../base/text/table.js';
import type { GameRecord } from '../runs/events.js';
import { findRuns } from '../runs/listing/names.js';
import { openLogs, runFiles } from '../runs/reader.js';
import { describeReason } from '../runs/summary.js';
import { withVerdicts } from '../statistics/tests.js';
import { type GroupDifference, pairedDifference } from '../studies/comparison/comparability.js';
import { type ComparisonRequest, noRunsLeftError } from '../studies/comparison/compare.js';
import type { OmittedRun } from '../studies/comparison/run-comparison.js';
import { differenceColumnsOf, leftOutText } from '../studies/comparison/table.js';
import { verdictRule } from '../studies/comparison/words.js';
import { loadPlayConfig } from './play-config.js';
import { gamesOf, type PlayResult, percent, playResult } from './play-result.js';
import { isPlay } from './played.js';

interface ComparedPlay extends PlayResult {
  readonly name: string;
}

type PlayMeasure = 'score' | 'return';

type PlayRequest = Omit<ComparisonRequest, 'by'> & { readonly by?: unknown };

/**
 * Compares agent runs and returns the text to print; undefined if none of the names refers to an agent run.
 * @throws UserError for names that match no run or are ambiguous, agent runs in different environments or mixed with
 * other runs, options that don't apply to agent runs, and if every agent run is left out
 */
export function comparePlays(
  request: PlayRequest,
  { columns, cwd }: Pick<CommandContext, 'columns' | 'cwd'>,
): string | undefined {
  const paths = findRuns(request.runs, { cwd, runsDir: request.runsDir });
  const playPaths = paths.filter(isPlay);
  if (playPaths.length === 0) return undefined;
  if (playPaths.length < paths.length)
    throw new UserError({
      field: 'runs',
      value: shownPath(playPaths[0]!, cwd),
      message: "agent runs can't be compared with other runs",
      hint: 'compare agent runs separately from other runs',
    });
  rejectOptions(request);
  const outcomes = playPaths.map((path) => readPlay(path, cwd, request.unfinished));
  const includedPlays = outcomes.filter((play) => 'result' in play);
  const leftOut = outcomes.filter((play) => 'reason' in play);
  if (includedPlays.length === 0) throw noRunsLeftError(leftOut, request.unfinished);
  requireSameEnvironment(includedPlays);
  const results = includedPlays.map(({ result }) => result);
  const names = namesOf(results);
  const comparedPlays = results.map((result, i): ComparedPlay => ({ ...result, name: names[i]! }));
  const isScored = includedPlays.every(({ games }) => games.every(({ score }) => score !== undefined));
  const measure = isScored ? 'score' : 'return';
  const namedGames = includedPlays.map(({ games }, i) => ({ games, name: names[i]! }));
  const differences = differencesOf(namedGames, measure);
  if (request.json) return JSON.stringify({ plays: comparedPlays, measure, differences, leftOut });
  const allColumns = playColumns(isScored);
  if (request.format !== undefined) return tableFormats[request.format](comparedPlays, allColumns).trimEnd();
  const texts = [comparedPlays[0]!.environment, terminalTable(comparedPlays, allColumns, columns)];
  if (differences.length > 0) {
    texts.push(terminalTable(differences, differenceColumnsOf(`${measure}, same games`), columns));
    append(texts, verdictRule(differences.filter(({ p }) => p !== null).length));
  } else if (comparedPlays.length > 1)
    texts.push('No two of these agent runs share a game. To compare players, use the same seed.');
  return [...texts, ...leftOutText(leftOut)].join('\n\n');
}

function rejectOptions({ against, by, html, target }: PlayRequest): void {
  const givenOption = Object.entries({ against, by, html, target }).find(([, value]) => value !== undefined);
  if (givenOption === undefined) return;
  throw new UserError({
    field: `--${givenOption[0]}`,
    message: "doesn't apply to agent runs, which have no learning curve and no groups",
    alternatives: ['--json', '--format'],
  });
}

interface RecordedPlay {
  readonly result: PlayResult;
  readonly games: readonly GameRecord[];
  readonly environment: string;
}

/** Reads an agent run, or returns the reason why it is left out: damaged or unfinished. */
function readPlay(path: string, cwd: string, unfinished: boolean): RecordedPlay | OmittedRun {
  const run = shownPath(path, cwd);
  try {
    const result = playResult(path, cwd);
    const { games, of, status } = result;
    if (status !== 'completed' && !unfinished)
      return { run, reason: `${games} of ${plural(of, 'game')} played: ${describeReason(result)}` };
    const { environment } = loadPlayConfig(resolve(path, runFiles.config), [], cwd, true).config;
    return { result, games: gamesOf(openLogs(path, true)), environment: JSON.stringify(environment) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { run, reason: messageOf(error).split('\n', 1)[0]! };
  }
}

/** @throws UserError if the agent runs have different environments or options */
function requireSameEnvironment(plays: readonly RecordedPlay[]): void {
  const [first] = plays;
  const other = plays.find(({ environment }) => environment !== first!.environment);
  if (other === undefined) return;
  throw new UserError({
    field: 'runs',
    value: other.result.run,
    message: `this agent run uses ${other.environment}, but ${first!.result.run} uses ${first!.environment}`,
    hint: 'compare agent runs of the same environment and options',
  });
}

/** Names each agent run after its player or model, plus its path if several have the same name. */
function namesOf(results: readonly PlayResult[]): readonly string[] {
  const shortNames = results.map(({ model, player }) => (player === 'model' ? model : player));
  return shortNames.map((name, i) =>
    shortNames.filter((other) => other === name).length === 1 ? name : `${name} (${results[i]!.run})`,
  );
}

/** Compares each pair of agent runs over the games with the same seeds. */
function differencesOf(
  plays: readonly { readonly games: readonly GameRecord[]; readonly name: string }[],
  measure: PlayMeasure,
): readonly GroupDifference[] {
  const differences = plays.flatMap(({ games, name: of }, i) =>
    plays.slice(i + 1).flatMap(({ games: others, name: against }) => {
      const values = new Map(others.map((game) => [game.seed, game[measure]!]));
      const sharedGames = games.filter(({ seed }) => values.has(seed));
      return pairedDifference(
        { of, against },
        sharedGames.map((game) => game[measure]!),
        sharedGames.map(({ seed }) => values.get(seed)!),
        measure === 'score' ? [0, 1] : undefined,
      );
    }),
  );
  return withVerdicts(differences);
}

const toEstimate = (value: number | null, interval: PlayResult['returnCi95']) =>
  value === null ? null : { value, interval };
const shareText = (value: number | null) => (value === null ? null : percent(value));

/** @param isScored true to show scores and wins; CSV has these columns even if games have no scores */
const playColumns = (isScored: boolean): readonly Column<ComparedPlay>[] => [
  text('player', ({ name }) => name, { name: 'player' }),
  number('games', ({ games }) => games, { name: 'games' }),
  estimate(isScored && 'score', ({ meanScore, scoreCi95 }) => toEstimate(meanScore, scoreCi95), {
    name: 'score',
  }),
  estimate('return', ({ meanReturn, returnCi95 }) => toEstimate(meanReturn, returnCi95), { name: 'return' }),
  number(isScored && 'won', ({ won }) => shareText(won), { name: 'won' }),
  number('length', ({ meanLength }) => meanLength, { name: 'length', format: formatReturn }),
  number('unclear', ({ unclear }) => shareText(unclear), { name: 'unclear' }),
];
