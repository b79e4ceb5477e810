/** Plays the remaining games of a run directory. */

import type { CommandContext } from '../base/context.js';
import { deriveSeeds } from '../base/random/generator.js';
import type { Action } from '../environments/environment.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { statusAfter } from '../experiment/stopping.js';
import { ModelError } from '../models/language-model.js';
import { type CallRecord, hasReached } from '../runs/calls.js';
import { firstFaults, type GameRecord, type RunEvent, type StopReason } from '../runs/events.js';
import { watchStopRequests } from '../runs/stop-request.js';
import type { RunDirectory } from '../runs/writer.js';
import { mean } from '../statistics/descriptive.js';
import type { Display } from '../studies/run-progress.js';
import { type ModelReply, modelSpeaker } from './model-speaker.js';
import { gamesOf, playFigures, playMeans } from './play-result.js';
import { callsAtOnce, type PlaySetup } from './play-setup.js';
import { type Game, type GameSetting, playGames } from './player.js';
import { type Player, playerOf } from './players.js';
import type { Reply } from './speaker.js';

type Outside = Pick<CommandContext, 'now' | 'milliseconds' | 'stop'>;

export async function playInDirectory(
  setup: PlaySetup,
  directory: RunDirectory,
  display: Display,
  outside: Outside,
): Promise<void> {
  const requests = watchStopRequests(directory.path, outside.stop);
  const started = outside.milliseconds();
  const earlierMs = directory.manifest.activeMs;
  const activeMs = () => earlierMs + outside.milliseconds() - started;
  const games = [...gamesOf(directory.recorded)];
  const emit = (event: RunEvent) => {
    directory.record(event);
    display.show(event);
  };
  try {
    await playRemaining({ setup, directory, games, activeMs, emit, now: outside.now, stop: requests.stop });
  } catch (error) {
    directory.update({ status: 'failed', activeMs: activeMs() });
    throw error;
  } finally {
    requests.close();
    display.close();
    // Save first: closing a user's environment or model may hang.
    await directory.close();
    await setup.arena.close();
    await setup.model?.close?.();
  }
}

/** The state of a set of games in progress. */
interface Session extends Pick<Outside, 'now' | 'stop'> {
  readonly setup: PlaySetup;
  readonly directory: RunDirectory;
  /** The complete games. */
  readonly games: GameRecord[];
  readonly activeMs: () => number;
  readonly emit: (event: RunEvent) => void;
}

async function playRemaining(session: Session): Promise<void> {
  const { activeMs, directory, emit, games, setup } = session;
  const { config, ledger, model } = setup;
  const { recorded } = directory;
  /** Calls in games that an earlier process didn't finish. */
  const unfinished: CallRecord[] = [];
  for (const call of recorded.calls) {
    ledger.record(call);
    if (call.iteration > recorded.iteration) unfinished.push(call);
  }
  const playWave = createWaves(session, unfinished);
  keep(session, { status: 'running', reason: undefined });
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
    reason = stopReason(session) ?? (await playWave(wave));
  reason ??= { kind: 'iterations' };
  const caps = ledger.caps({ evaluations: 0, ms: activeMs() });
  keep(session, { status: statusAfter(reason), reason });
  emit({ kind: 'run-finished', reason, usage: ledger.totals, ...(caps.length > 0 && { caps }) });
}

/** The reason why no more games start: a stop request, or no time left. */
function stopReason({ setup, activeMs, stop }: Session): StopReason | undefined {
  if (stop.finish.aborted || stop.abort.aborted) return { kind: 'interrupted' };
  return leftMs(setup, activeMs) <= 0 ? { kind: 'limit', limit: 'minutes' } : undefined;
}

function leftMs({ config: { limits } }: PlaySetup, activeMs: () => number): number {
  return limits.minutes === undefined ? Number.POSITIVE_INFINITY : limits.minutes * 60_000 - activeMs();
}

/** The reason that an error gives to stop. @throws errors that aren't a stop or a failure of the model or environment */
function reasonOf(error: unknown, { stop }: Session): StopReason {
  if (stop.abort.aborted) return { kind: 'interrupted' };
  if (error instanceof ModelError) return { kind: 'model-error', message: error.message };
  if (!(error instanceof EnvironmentError)) throw error;
  return { kind: 'environment-error', failure: error.kind, message: error.message };
}

/** @returns a function that plays the games of a wave, which run in parallel, and returns the reason if they were stopped */
function createWaves(session: Session, unfinished: readonly CallRecord[]) {
  const { activeMs, directory, emit, games, setup } = session;
  const { agent, arena, config, ledger, starts } = setup;
  const { history, historyTokens } = config.policy;
  const asked = modelAsked(session, unfinished);
  const isAsked = config.player === 'model';
  const named = agent.choices()?.filter(({ action, text }) => text !== String(action));
  const names = new Map(named?.map(({ action, text }) => [action, text]));
  const size = Math.min(config.parallel, arena.batch.slots);

  return async (wave: number): Promise<StopReason | undefined> => {
    const seeds = starts.slice(games.length, games.length + size);
    const sampling = deriveSeeds(config.seed, [samplingStream, wave], seeds.length);
    const model = isAsked ? asked(wave) : undefined;
    const player = model?.player ?? playerOf(config.player, agent, arena);
    const setting: GameSetting<ModelReply> = {
      ...player,
      arena,
      history,
      historyTokens,
      maxTurns: config.maxSteps,
    };
    let played: readonly Game<Reply>[];
    try {
      played = await playGames(
        setting,
        seeds.map((start, i) => ({ start, sampling: sampling[i]! })),
      );
    } catch (error) {
      return reasonOf(error, session);
    }
    if (played.length === 0) return model!.stopped();
    const first = games.length;
    for (const [i, game] of played.entries()) {
      const place = { iteration: wave, candidate: i, episode: first + i, seed: seeds[i]! };
      const record = recordOf(game, isAsked, place, names);
      games.push(record);
      emit({ kind: 'game-finished', game: record });
    }
    keep(session, {});
    const caps = ledger.caps({ evaluations: 0, ms: activeMs() });
    emit({
      kind: 'iteration-finished',
      iteration: wave,
      score: mean(played.map((game) => game.return)),
      usage: ledger.totals,
      ...(caps.length > 0 && { caps }),
    });
    await directory.commit();
    return undefined;
  };
}

/** @returns a function that creates the player of a wave, and reports why the model stopped, if it did */
function modelAsked(
  { activeMs, directory, emit, now, setup, stop }: Session,
  unfinished: readonly CallRecord[],
) {
  const { agent, config, ledger, model } = setup;
  const { policy } = config;
  const { abort, finish } = stop;
  const warned = new Set<string>();
  const onFault = firstFaults(emit);
  let isReached = false;
  const isFollowed = ({ candidate, attempt, iteration }: CallRecord) =>
    unfinished.some(
      (later) => later.iteration === iteration && later.candidate === candidate && later.attempt > attempt,
    );
  const onCall = (call: CallRecord) => {
    isReached ||= hasReached(call);
    emit({ kind: 'call-finished', call });
    for (const message of call.completion?.warnings ?? []) {
      if (!warned.has(message)) emit({ kind: 'warning', message });
      warned.add(message);
    }
  };

  return (
    wave: number,
  ): { readonly player: Player<ModelReply>; readonly stopped: () => StopReason | undefined } => {
    const left = leftMs(setup, activeMs);
    const timer = Number.isFinite(left)
      ? AbortSignal.timeout(Math.round(Math.max(0, Math.min(left, 2 ** 31 - 1))))
      : undefined;
    const isHere = (call: CallRecord, ...[candidate, attempt, messages]: Place) =>
      call.iteration === wave &&
      call.candidate === candidate &&
      call.attempt === attempt &&
      JSON.stringify(call.messages) === JSON.stringify(messages);
    const speaker = modelSpeaker({
      agent,
      caller: {
        ledger,
        finish,
        signal: timer === undefined ? abort : AbortSignal.any([abort, timer]),
        now,
        send: (lost) => directory.send(lost),
        onFault,
        onWait: (ms) => emit({ kind: 'rate-limited', seconds: Math.round(ms / 1000) }),
      },
      policy,
      model: model!,
      wave,
      concurrency: callsAtOnce(config),
      timeUp: () => (timer?.aborted && !abort.aborted ? 'minutes' : undefined),
      isReached: () => isReached,
      // Ignore a failed call if it was the last one of its game, so that it is retried.
      recorded: (...place) =>
        unfinished.findLast(
          (call) => isHere(call, ...place) && (call.outcome.kind !== 'error' || isFollowed(call)),
        ),
      onCall,
    });
    const { asks, fallback } = policy;
    return { player: { agent, fallback, asks, speaker }, stopped: speaker.stopped };
  };
}

/** Updates the manifest from the state of the games. Intervals are computed only at the end, because they take time. */
function keep(
  { activeMs, directory, games, setup: { config, ledger } }: Session,
  changes: Parameters<RunDirectory['update']>[0],
): void {
  const caps = ledger.caps({ evaluations: 0, ms: activeMs() });
  const isOver = changes.status !== undefined && changes.status !== 'running';
  const { meanReturn, meanScore } = playMeans(games);
  const { returnCi95, scoreCi95 } = isOver ? playFigures(games) : { returnCi95: null, scoreCi95: null };
  directory.update({
    iterations: { done: games.length, of: config.episodes },
    usage: ledger.totals,
    caps: caps.length > 0 ? caps : undefined,
    activeMs: activeMs(),
    play: {
      player: config.player,
      ...(meanReturn !== null && { meanReturn, ci95: returnCi95 }),
      ...(meanScore !== null && { meanScore, scoreCi95 }),
    },
    ...changes,
  });
}

type Place = Parameters<NonNullable<Parameters<typeof modelSpeaker>[0]['recorded']>>;

/** First spawn key of the sampling stream. `random/seeds.ts` uses it only for training, which a play run doesn't do. */
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
