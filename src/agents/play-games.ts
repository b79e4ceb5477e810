/** Plays the remaining games of a run directory. */

import { deriveSeeds } from '../base/random/generator.js';
import type { Action } from '../environments/environment.js';
import { failureOf, statusAfter } from '../experiment/stopping.js';
import type { CallRecord } from '../runs/calls.js';
import type { GameRecord, StopReason } from '../runs/events.js';
import type { RunDirectory } from '../runs/writer.js';
import { mean } from '../statistics/descriptive.js';
import { type RunContext, type RunSession, runInDirectory } from '../studies/run.js';
import type { EventDisplay } from '../studies/run-progress.js';
import { createModelSpeakers, type ModelSpeakers } from './model-speaker.js';
import { gamesOf, playFigures, playMeans } from './play-result.js';
import type { PlaySetup } from './play-setup.js';
import { type Game, playGames } from './player.js';
import { createPlayer } from './players.js';
import type { Reply } from './speaker.js';

export const playInDirectory = (
  setup: PlaySetup,
  directory: RunDirectory,
  display: EventDisplay,
  context: RunContext,
): Promise<void> =>
  runInDirectory(directory, display, context, {
    work: (session) =>
      playRemaining({ ...session, setup, directory, games: [...gamesOf(directory.recorded)] }),
    async close() {
      await setup.arena.close();
      await setup.model?.close?.();
    },
  });

/** The state of an agent run in progress. */
interface PlaySession extends RunSession {
  readonly setup: PlaySetup;
  readonly directory: RunDirectory;
  /** Records of the games completed so far. */
  readonly games: GameRecord[];
}

async function playRemaining(session: PlaySession): Promise<void> {
  const { directory, emit, games, setup } = session;
  const { config, ledger, model } = setup;
  const { recorded } = directory;
  /** Calls that an earlier process made for a batch of games that it didn't complete. */
  const unfinishedCalls: CallRecord[] = [];
  for (const call of recorded.calls) {
    ledger.record(call);
    if (call.iteration > recorded.iteration) unfinishedCalls.push(call);
  }
  const msLeft = leftMs(session);
  const send = directory.send.bind(directory);
  const speakers = model && createModelSpeakers(setup, model, session, { msLeft, send, unfinishedCalls });
  updateManifest(session, { status: 'running', reason: undefined });
  emit({
    kind: 'run-started',
    run: directory.manifest.run,
    environment: config.environment.id,
    model: model?.id ?? `player/${config.player}`,
    parameters: 0,
    iterations: config.episodes,
    ...(games.length > 0 && { resumedAt: games.length }),
  });
  let reason: StopReason | undefined;
  for (let wave = recorded.iteration + 1; reason === undefined && games.length < config.episodes; wave++)
    reason = stopReason(session) ?? (await playWave(session, wave, speakers));
  reason ??= { kind: 'iterations' };
  updateManifest(session, { status: statusAfter(reason), reason });
  emit({ kind: 'run-finished', reason, usage: ledger.totals, ...limitsUsed(session) });
}

/** Returns why no more games start (a stop request, or no time left); undefined if more can start. */
function stopReason(session: PlaySession): StopReason | undefined {
  const { abort, finish } = session.stop;
  if (finish.aborted || abort.aborted) return { kind: 'interrupted' };
  return leftMs(session) <= 0 ? { kind: 'limit', limit: 'minutes' } : undefined;
}

function leftMs({ activeMs, setup: { config } }: PlaySession): number {
  const { minutes = Number.POSITIVE_INFINITY } = config.limits;
  return minutes * 60_000 - activeMs();
}

function limitsUsed({ activeMs, setup: { ledger } }: PlaySession) {
  const caps = ledger.caps({ evaluations: 0, ms: activeMs() });
  return caps.length > 0 ? { caps } : {};
}

/** Plays the next games, in parallel. Returns the reason if they were stopped or failed, otherwise undefined. */
async function playWave(
  session: PlaySession,
  wave: number,
  speakers: ModelSpeakers | undefined,
): Promise<StopReason | undefined> {
  const { directory, emit, games, setup, stop } = session;
  const { agent, arena, config, ledger, startSeeds } = setup;
  const { asks, fallback, history, historyTokens } = config.policy;
  const player =
    speakers === undefined
      ? createPlayer(config.player, agent, arena)
      : { agent, asks, fallback, speaker: speakers.speaker(wave) };
  const firstIndex = games.length;
  const seeds = startSeeds.slice(firstIndex, firstIndex + Math.min(config.parallel, arena.batch.slotCount));
  const samplingSeeds = deriveSeeds(config.seed, [samplingStream, wave], seeds.length);
  let played: readonly Game<Reply>[];
  try {
    played = await playGames(
      { ...player, arena, history, historyTokens, maxTurns: config.maxSteps },
      seeds.map((start, i) => ({ start, sampling: samplingSeeds[i]! })),
    );
  } catch (error) {
    return failureOf(error, stop);
  }
  if (played.length === 0) return speakers!.stopReason();
  const namedChoices = agent.choices()?.filter(({ action, text }) => text !== String(action));
  const names = new Map(namedChoices?.map(({ action, text }) => [action, text]));
  for (const [i, game] of played.entries()) {
    const place = { iteration: wave, candidate: i, episode: firstIndex + i, seed: seeds[i]! };
    const record = recordOf(game, speakers !== undefined, place, names);
    games.push(record);
    emit({ kind: 'game-finished', game: record });
  }
  updateManifest(session, {});
  emit({
    kind: 'iteration-finished',
    iteration: wave,
    score: mean(played.map((game) => game.return)),
    usage: ledger.totals,
    ...limitsUsed(session),
  });
  await directory.commit();
  return undefined;
}

/** Updates the manifest from the state of the games. Intervals are computed only at the end, because they take time. */
function updateManifest(session: PlaySession, changes: Parameters<RunDirectory['update']>[0]): void {
  const { activeMs, directory, games, setup } = session;
  const { config, ledger } = setup;
  const isOver = changes.status !== undefined && changes.status !== 'running';
  const { meanReturn, meanScore } = playMeans(games);
  const { returnCi95, scoreCi95 } = isOver ? playFigures(games) : { returnCi95: null, scoreCi95: null };
  directory.update({
    iterations: { done: games.length, of: config.episodes },
    usage: ledger.totals,
    caps: limitsUsed(session).caps,
    activeMs: activeMs(),
    play: {
      player: config.player,
      ...(meanReturn !== null && { meanReturn, ci95: returnCi95 }),
      ...(meanScore !== null && { meanScore, scoreCi95 }),
    },
    ...changes,
  });
}

/** First spawn key of the sampling stream, different from those of the streams in `base/random/seeds.ts`. */
const samplingStream = 5;

function recordOf(
  { info, last, objective, terminated, truncated, turns, ...game }: Game<Reply>,
  isAsked: boolean,
  place: Pick<GameRecord, 'iteration' | 'candidate' | 'episode' | 'seed'>,
  names: ReadonlyMap<Action, string>,
): GameRecord {
  return {
    ...place,
    turns: turns.map(({ action, message, reply, reward, valid }) => ({
      message,
      ...(isAsked && { reply: reply.text }),
      ...(action !== undefined && { action }),
      ...(action !== undefined && names.has(action) && { words: names.get(action)! }),
      ...(isAsked && { valid }),
      reward,
    })),
    last,
    return: game.return,
    length: turns.filter(({ action }) => action !== undefined).length,
    terminated,
    truncated,
    ...(objective !== undefined && { objective }),
    ...(info && { score: info.score, maxScore: info.maxScore, won: info.won, lost: info.lost }),
  };
}
