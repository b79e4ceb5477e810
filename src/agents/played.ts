/** Recognises agent runs, and formats their results and games for `show`. */
import type { CommandContext } from '../base/context.js';
import { UserError, unlessRejected } from '../base/errors.js';
import { formatReturn, plural } from '../base/text/numbers.js';
import { fitText } from '../base/text/width.js';
import type { GameRecord } from '../runs/events.js';
import { openLogs, readManifest } from '../runs/reader.js';
import { endingOf, turnActionText } from './play-page.js';
import { gamesOf, playResult, playText } from './play-result.js';

export const isPlay = (path: string): boolean => unlessRejected(() => readManifest(path).play) !== undefined;

/**
 * Returns the output of `show` for an agent run: its result or one of its games.
 * @param gameNumber 1-based number of a game; if undefined, the result is shown
 * @throws UserError if the run has no complete game with this number
 */
export function playOutput(
  path: string,
  gameNumber: number | undefined,
  json: boolean,
  { columns, cwd }: Pick<CommandContext, 'columns' | 'cwd'>,
): string {
  if (gameNumber === undefined) {
    const result = playResult(path, cwd);
    return json ? JSON.stringify(result) : fitText(playText(result, cwd), columns);
  }
  const games = gamesOf(openLogs(path, true));
  const game = games[gameNumber - 1];
  if (game === undefined)
    throw new UserError({
      field: '--game',
      value: gameNumber,
      message: `this agent run has ${games.length === 0 ? 'no complete games' : `only ${plural(games.length, 'complete game')}`}`,
    });
  return json ? JSON.stringify(game) : gameText(game);
}

function gameText(game: GameRecord): string {
  const { episode, last, length, score, seed, turns } = game;
  const lines = turns.flatMap((turn) => {
    const { message, reply, reward } = turn;
    const takenAction = turnActionText(turn);
    const replyLines =
      reply !== undefined && reply.trim() !== takenAction ? [`  reply: ${reply.replace(/\s+/g, ' ')}`] : [];
    const rewardText = reward === 0 ? '' : `    reward ${formatReturn(reward)}`;
    return [message, ...replyLines, `> ${takenAction ?? '(no action)'}${rewardText}`, ''];
  });
  const head = `game ${episode + 1}, seed ${seed}`;
  const scoreText = score === undefined ? '' : `, score ${formatReturn(score)}`;
  const end = endingOf(game);
  return [
    ...[head, '', ...lines, last, ''],
    `${end === 'cut' ? 'cut off' : end} after ${plural(length, 'step')}: return ${formatReturn(game.return)}${scoreText}`,
  ].join('\n');
}
