/** Players other than a model: an expert that plays winning commands, and players that take random or first actions. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { UserError } from '../base/errors.js';
import type { Agent } from './agent.js';
import type { PlayConfig } from './play-config.js';
import type { Arena, GameSetup } from './player.js';
import { listedChoices } from './reading.js';
import type { Reply } from './speaker.js';

/** A player, and the settings for its games. */
export interface Player<R extends Reply = Reply>
  extends Pick<GameSetup<R>, 'agent' | 'speaker' | 'fallback'> {
  /** Maximum number of times in a row that the player is asked again after an unclear reply. */
  readonly asks: number;
}

/** Creates the player with this name, which must not be `model`. */
export const createPlayer = (name: PlayConfig['player'], agent: Agent, arena: Arena): Player =>
  name === 'expert' ? expertPlayer(agent, arena) : fallbackPlayer(agent, name === 'first' ? name : 'random');

/** Creates a player that enters the winning commands of each game. */
function expertPlayer(agent: Agent, { batch }: Arena): Player {
  const commandsByGame = new Map<number, readonly string[]>();
  return {
    fallback: 'end',
    asks: 0,
    // Take commands as they are, because the default parser might find a different command inside one.
    agent: { ...agent, extractAction: (reply) => (reply === '' ? undefined : reply) },
    speaker: {
      async reply(conversations) {
        await yieldToEventLoop();
        // All games are in the same batch, so a game's index is also its slot.
        for (const { game, turn } of conversations)
          if (turn === 0) commandsByGame.set(game, (await batch.gold?.(game)) ?? []);
        return conversations.map(({ game, turn }) => ({ text: commandsByGame.get(game)?.[turn] ?? '' }));
      },
    },
  };
}

/** Creates a player that always takes a random action, or always the first one. */
function fallbackPlayer(agent: Agent, fallback: 'random' | 'first'): Player {
  return {
    fallback,
    asks: 0,
    agent: { ...agent, extractAction: () => undefined },
    speaker: {
      async reply(conversations) {
        await yieldToEventLoop();
        return conversations.map(() => ({ text: '' }));
      },
    },
  };
}

/**
 * @param arena with a game in slot 0
 * @throws UserError listing other players if this one can't play in the environment
 */
export async function requirePlayer(
  player: PlayConfig['player'],
  { actionSpace, batch, id }: Arena,
): Promise<void> {
  const reject = (message: string, otherPlayers: readonly string[]) => {
    const alternatives = ['model', ...otherPlayers];
    throw new UserError({ field: 'player', value: player, message, alternatives });
  };
  if (player === 'model') return;
  const isListed = (listedChoices(actionSpace, undefined, batch.info?.(0))?.length ?? 0) > 0;
  const isBounded =
    actionSpace.kind === 'box' && [...actionSpace.low, ...actionSpace.high].every(Number.isFinite);
  const simplePlayers: readonly string[] = isListed ? ['random', 'first'] : isBounded ? ['random'] : [];
  if (player === 'expert') {
    const gold = await batch.gold?.(0);
    if (gold === undefined || gold.length === 0)
      reject(`the winning commands of ${id} are unknown`, simplePlayers);
  } else if (!simplePlayers.includes(player)) {
    reject(`the actions of ${id} can't be listed`, simplePlayers);
  }
}
