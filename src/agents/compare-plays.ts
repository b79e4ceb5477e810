/** Compares players by their mean results, and by the differences in the games that both played. */
import { resolve } from 'node:path';
import { type CommandContext, shownPath } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import { replaceFile } from '../base/files/files.js';
import { formatInterval, formatReturn, plural } from '../base/text/numbers.js';
import { csvTable, estimate, number, terminalTable, text } from '../base/text/table.js';
import type { GameRecord } from '../runs/events.js';
import { findRuns } from '../runs/listing/names.js';
import { openLogs, runFiles } from '../runs/reader.js';
import { describeReason } from '../runs/summary.js';
import { comparePairs, type PairedDifference } from '../statistics/paired.js';
import { type Judged, verdicts } from '../statistics/tests.js';
import { nothingLeft } from '../studies/comparison/compare.js';
import type { LeftOut } from '../studies/comparison/run-comparison.js';
import { leftOutText } from '../studies/comparison/table.js';
import { loadPlayConfig } from './play-config.js';
import { gamesOf, type PlayResult, percent, playResult } from './play-result.js';
import { isPlay } from './played.js';

interface ComparedPlay extends PlayResult {
  readonly name: string;
}

/** The difference between two players, first minus second, over games with the same seed. */
type PlayDifference = PairedDifference &
  Judged & {
    readonly first: string;
    readonly second: string;
    /** `score` if all compared games have one, otherwise `return`. */
    readonly measure: 'score' | 'return';
  };

/** Output of `compare --json` for play runs. */
interface PlayComparison {
  readonly plays: readonly ComparedPlay[];
  readonly differences: readonly PlayDifference[];
  readonly leftOut: readonly LeftOut[];
}

interface Request {
  readonly runs: readonly string[];
  readonly runsDir: string;
  readonly by?: unknown;
  readonly target?: unknown;
  readonly html?: unknown;
  readonly csv?: string | undefined;
  readonly unfinished: boolean;
  readonly json: boolean;
}

/**
 * Compares play runs and returns the text to print; undefined if none of the names refers to a play run.
 * @throws UserError for play runs in different environments or mixed with other runs, and for options that don't apply to them,
 * or if every play run is left out
 */
export function comparePlays(
  request: Request,
  { columns, cwd }: Pick<CommandContext, 'columns' | 'cwd'>,
): string | undefined {
  const paths = findRuns(request.runs, { cwd, runsDir: request.runsDir });
  const plays = paths.filter(isPlay);
  if (plays.length === 0) return undefined;
  if (plays.length < paths.length)
    throw new UserError({
      field: 'runs',
      value: shownPath(plays[0]!, cwd),
      message: "play runs can't be compared with other runs",
      hint: 'name only play runs, or none',
    });
  refuseOptions(request);
  const read = plays.map((path) => readPlay(path, cwd, request.unfinished));
  const kept = read.filter((play) => 'result' in play);
  const leftOut = read.filter((play) => 'reason' in play);
  if (kept.length === 0) throw nothingLeft(leftOut, request.unfinished);
  requireSameGames(kept);
  const results = kept.map(({ result }) => result);
  const names = namesOf(results);
  const compared = results.map((result, i): ComparedPlay => ({ ...result, name: names[i]! }));
  const differences = differencesOf(
    kept.map(({ games }) => games),
    names,
  );
  if (request.csv !== undefined)
    replaceFile(resolve(cwd, request.csv), csvTable(compared, playColumns(compared)));
  if (request.json) return JSON.stringify({ plays: compared, differences, leftOut } satisfies PlayComparison);
  const table = terminalTable(compared, playColumns(compared), columns);
  const [{ environment }] = compared as [ComparedPlay];
  const found =
    differences.length > 0
      ? differenceText(differences, columns)
      : ['No two of these play runs share a game. To compare players, play with the same seed.'];
  const texts = [environment, table, ...(compared.length > 1 ? found : [])];
  return [...texts, ...leftOutText(leftOut)].join('\n\n');
}

function refuseOptions({ by, html, target }: Request): void {
  for (const [option, value] of Object.entries({ by, html, target })) {
    if (value === undefined) continue;
    throw new UserError({
      field: `--${option}`,
      message: "doesn't apply to play runs, which have no learning curve and no groups",
      alternatives: ['--json', '--csv'],
    });
  }
}

interface ReadPlay {
  readonly result: PlayResult;
  readonly games: readonly GameRecord[];
  readonly environment: string;
}

/** Reads a play run, or returns the reason why it is left out: damaged or unfinished. */
function readPlay(path: string, cwd: string, unfinished: boolean): ReadPlay | LeftOut {
  const run = shownPath(path, cwd);
  try {
    const result = playResult(path, cwd);
    if (result.status !== 'completed' && !unfinished)
      return {
        run,
        reason: `${result.games} of ${plural(result.of, 'game')} played: ${describeReason(result)}`,
      };
    const { environment } = loadPlayConfig(resolve(path, runFiles.config), [], cwd, true).config;
    return { result, games: gamesOf(openLogs(path, true)), environment: JSON.stringify(environment) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { run, reason: messageOf(error).split('\n', 1)[0]! };
  }
}

/** @throws UserError if the play runs have different environments or options */
function requireSameGames(plays: readonly ReadPlay[]): void {
  const [first] = plays;
  const other = plays.find(({ environment }) => environment !== first!.environment);
  if (other === undefined) return;
  throw new UserError({
    field: 'runs',
    value: other.result.run,
    message: `this play run uses ${other.environment}, but ${first!.result.run} uses ${first!.environment}`,
    hint: 'compare play runs of the same environment and options',
  });
}

/** Names each play run after its player or model, plus the path of its run if the name isn't unique. */
function namesOf(results: readonly PlayResult[]): readonly string[] {
  const short = results.map(({ model, player }) => (player === 'model' ? model : player));
  return short.map((name, i) =>
    short.filter((other) => other === name).length === 1 ? name : `${name} (${results[i]!.run})`,
  );
}

/** Compares each pair of players over the games with the same seeds. */
function differencesOf(
  all: readonly (readonly GameRecord[])[],
  names: readonly string[],
): readonly PlayDifference[] {
  const found = all.flatMap((first, i) =>
    all.slice(i + 1).flatMap((second, k) => {
      const others = new Map(second.map((game) => [game.seed, game]));
      const pairs = first.flatMap((game) => {
        const other = others.get(game.seed);
        return other === undefined ? [] : [[game, other] as const];
      });
      const isScored = pairs.every((pair) => pair.every(({ score }) => score !== undefined));
      const value = (game: GameRecord) => (isScored ? game.score! : game.return);
      const difference = comparePairs(
        pairs.map(([game]) => value(game)),
        pairs.map(([, other]) => value(other)),
      );
      if (difference === undefined) return [];
      const measure = isScored ? ('score' as const) : ('return' as const);
      return [{ first: names[i]!, second: names[i + 1 + k]!, measure, ...difference }];
    }),
  );
  return verdicts(found);
}

function playColumns(plays: readonly ComparedPlay[]) {
  const isScored = plays.some(({ meanScore }) => meanScore !== null);
  return [
    text<ComparedPlay>('player', ({ name }) => name, { name: 'player' }),
    number<ComparedPlay>('games', ({ games }) => games, { name: 'games' }),
    ...(isScored
      ? [
          estimate<ComparedPlay>(
            'score',
            ({ meanScore, scoreCi95 }) =>
              meanScore === null ? null : { value: meanScore, interval: scoreCi95 },
            { name: 'score' },
          ),
        ]
      : []),
    estimate<ComparedPlay>(
      'return',
      ({ meanReturn, returnCi95 }) =>
        meanReturn === null ? null : { value: meanReturn, interval: returnCi95 },
      { name: 'return' },
    ),
    ...(isScored
      ? [number<ComparedPlay>('won', ({ won }) => (won === null ? null : percent(won)), { name: 'won' })]
      : []),
    number<ComparedPlay>('length', ({ meanLength }) => meanLength, { name: 'length', format: formatReturn }),
    number<ComparedPlay>('unclear', ({ unclear }) => (unclear === null ? null : percent(unclear)), {
      name: 'unclear',
    }),
  ];
}

const words = {
  higher: 'is higher',
  lower: 'is lower',
  'no-evidence': 'no evidence of a difference',
  'too-few': 'too few games for a verdict',
} as const;

function differenceText(
  differences: readonly PlayDifference[],
  width: number | undefined,
): readonly string[] {
  const table = terminalTable(
    differences,
    [
      text('difference', ({ first, second }: PlayDifference) => `${first} − ${second}`),
      text('measure', ({ measure }: PlayDifference) => `${measure}, same games`),
      number('games', ({ pairs }: PlayDifference) => pairs),
      text('mean', ({ difference, interval }: PlayDifference) =>
        interval === null
          ? formatReturn(difference)
          : `${formatReturn(difference)}  ${formatInterval(interval)}`,
      ),
      number('better in', ({ winRate }: PlayDifference) => percent(winRate)),
      text('verdict', ({ verdict }: PlayDifference) => words[verdict]),
    ],
    width,
  );
  return [
    table,
    `All intervals are 95 % intervals. “Is higher” and “is lower” mean that the interval excludes 0 and p < 0.05${differences.length > 1 ? `, with Holm’s correction for ${differences.length} differences` : ''}. In the column “better in”, a tie counts as half a game.`,
  ];
}
