/** The task of an agent: the model plays groups of episodes in an environment. */
import { type Game, type GameSetup, localArena, playGames } from '../../src/agents/player.js';
import { openAgent } from '../../src/agents/prompted-agent.js';
import { replyFormatOf } from '../../src/agents/reading.js';
import { requireListedActions } from '../../src/agents/settings.js';
import { UserError } from '../../src/base/errors.js';
import { deriveSeeds } from '../../src/base/random/generator.js';
import { isRemoteId, makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Environment } from '../../src/environments/environment.js';
import { createSample, sampleCount } from '../../src/runs/training/samples.js';
import type { SampledReply, Sampler } from '../engine/sampler.js';
import type { RlTask } from './learning/episode.js';
import { episodeOf } from './learning/episode.js';
import type { RlConfig } from './rl-config.js';

const maxEnvironments = 4096;

/** @throws UserError for an unknown or remote environment, or one that doesn't suit the agent's settings */
export async function openAgentTask(
  { environment: { id, options }, agent: { prompts, act, ...playing } }: RlConfig,
  episodes: number,
): Promise<RlTask> {
  if (isRemoteId(id))
    throw new UserError({
      field: 'environment',
      value: id,
      message: "models can't learn in an environment that runs in another program",
      hint: 'play it with policyloop play and imitate the games (finetune dataset --recipe demonstrations), or choose a built-in environment',
    });
  const environments = await Promise.all(
    Array.from({ length: Math.min(episodes, maxEnvironments) }, () => makeEnvironment(id, options)),
  );
  const [firstEnvironment] = environments;
  const arena = localArena(environments);
  const agent = openAgent({
    environment: firstEnvironment!,
    options,
    prompts,
    replyFormat: replyFormatOf(act),
    maxSteps: playing.maxTurns,
    field: 'agent.prompts',
  });
  requireListedActions({ act, fallback: playing.fallback }, hasListedActions(firstEnvironment!), 'agent', id);
  const playFrom = (
    sampler: Sampler,
    starts: readonly number[],
    size: number,
    seed: number,
  ): Promise<readonly Game<SampledReply>[]> => {
    const setup: GameSetup<SampledReply> = { arena, agent, ...playing, speaker: sampler };
    const samplingSeeds = deriveSeeds(seed, [], starts.length * size);
    const gameSeeds = samplingSeeds.map((sampling, i) => ({
      start: starts[Math.floor(i / size)]!,
      sampling,
    }));
    return playGames(setup, gameSeeds);
  };
  return {
    async play(sampler, starts, size, seed) {
      const played = (await playFrom(sampler, starts, size, seed)).map(episodeOf);
      return starts.map((_, group) => played.slice(group * size, (group + 1) * size));
    },
    async measure(sampler, starts, seed) {
      const games = await playFrom(sampler, starts, 1, seed);
      const samples = games.slice(0, sampleCount).map(({ return: score, turns }) => {
        const dialog = turns.map(({ message, reply }) => ({ prompt: message, reply: reply.text }));
        return createSample(dialog, { score });
      });
      return { values: games.map((game) => game.return), samples };
    },
    async close() {
      await arena.close();
    },
  };
}

const hasListedActions = ({ actionSpace, info }: Environment): boolean =>
  actionSpace.kind === 'discrete' ||
  actionSpace.kind === 'tuple' ||
  (actionSpace.kind === 'text' && (actionSpace.choices ?? info) !== undefined);
