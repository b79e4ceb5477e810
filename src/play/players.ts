/**
 * Players other than a model: an expert that plays winning commands, a random or first action, a person at
 * the terminal.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Agent } from '../agents/agent.js';
import type { Arena } from '../agents/player.js';
import { listedChoices } from '../agents/reading.js';
import type { Fallback } from '../agents/settings.js';
import type { Reply, Speaker } from '../agents/speaker.js';
import { UserError } from '../base/errors.js';
import type { PlayerName } from './play-config.js';

/** How a player takes part in the games. */
export interface Player<R extends Reply = Reply> {
  readonly agent: Agent;
  readonly speaker: Speaker<R>;
  readonly fallback: Fallback;
  /** How many times in a row it is asked again. */
  readonly asks: number;
}

/** Plays the commands that win the current games. */
export function expertPlayer(agent: Agent, { batch }: Arena): Player {
  const known = new Map<number, readonly string[]>();
  return {
    ...{ fallback: 'end', asks: 0 },
    // The default parser might find another command inside the text of this one.
    agent: { ...agent, extractAction: (reply) => (reply === '' ? undefined : reply) },
    speaker: {
      async reply(conversations) {
        await yieldToEventLoop();
        // All games belong to one batch, so their numbers equal their slots.
        for (const { game, turn } of conversations)
          if (turn === 0) known.set(game, (await batch.gold?.(game)) ?? []);
        return conversations.map(({ game, turn }) => ({ text: known.get(game)?.[turn] ?? '' }));
      },
    },
  };
}

/** Takes a random action, or the first one. */
export function carelessPlayer(agent: Agent, fallback: 'random' | 'first'): Player {
  return {
    ...{ fallback, asks: 0 },
    agent: { ...agent, extractAction: () => undefined },
    speaker: {
      async reply(conversations) {
        await yieldToEventLoop();
        return conversations.map(() => ({ text: '' }));
      },
    },
  };
}

/** Thrown when a person gives up. */
export class QuitError extends Error {
  override readonly name = 'QuitError';
}

/**
 * Asks a person for each action. Games are played one after another.
 * @param ask shows a text and returns the line typed; undefined at the end of the input
 * @throws QuitError if the person quits
 */
export function humanPlayer(agent: Agent, ask: (text: string) => Promise<string | undefined>): Player {
  return {
    ...{ agent, fallback: 'ask-again', asks: Number.POSITIVE_INFINITY },
    speaker: {
      async reply([conversation]) {
        const { message, system, turn } = conversation!;
        const shown = turn === 0 && system !== '' ? `${system}\n\n${message}` : message;
        const line = await ask(`${shown}\n> `);
        if (line === undefined || /^(quit|exit)$/i.test(line.trim())) throw new QuitError('quit');
        return [{ text: line }];
      },
    },
  };
}

/** @throws UserError for a player that can't play in this environment; lists those that can */
export async function requirePlayer(
  player: PlayerName,
  { actionSpace, batch, id }: Arena,
  seed: number,
): Promise<void> {
  const refuse = (message: string, also: readonly PlayerName[]) => {
    const alternatives = ['model', ...also, 'human'];
    throw new UserError({ field: 'player', value: player, message, alternatives });
  };
  if (player === 'model' || player === 'human') return;
  await batch.reset([seed]);
  const isListed = (listedChoices(actionSpace, undefined, batch.info?.(0))?.length ?? 0) > 0;
  const isBounded =
    actionSpace.kind === 'box' && [...actionSpace.low, ...actionSpace.high].every(Number.isFinite);
  const careless: readonly PlayerName[] = isListed ? ['random', 'first'] : isBounded ? ['random'] : [];
  if (player === 'expert') {
    const gold = await batch.gold?.(0);
    if (gold === undefined || gold.length === 0) refuse(`nobody knows what wins in ${id}`, careless);
  } else if (!careless.includes(player)) {
    refuse(`the actions of ${id} can't be listed`, careless);
  }
}
