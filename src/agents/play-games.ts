/** Plays the remaining games of a run directory. */

import type { CommandContext } from '../base/context.js';
import { deriveSeeds } from '../base/random/generator.js';
import type { Action } from '../environments/environment.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { faultsInFile } from '../experiment/programs/program-file.js';
import { statusAfter } from '../experiment/stopping.js';
import { ModelError } from '../models/language-model.js';
import { type CallRecord, type EndedCall, faultsOf } from '../runs/calls.js';
import { firstFaults, type GameRecord, type RunEvent, type StopReason } from '../runs/events.js';
import { watchStopRequests } from '../runs/stop-request.js';
import type { RunDirectory } from '../runs/writer.js';
import { mean } from '../statistics/descriptive.js';
import { GamesStopped, type ModelReply, modelSpeaker } from './model-speaker.js';
import { isProgram } from './play-config.js';
import { gamesOf, playFigures, playMeans } from './play-result.js';
import { callsAtOnce, type PlaySetup, playerName } from './play-setup.js';
import { type Game, type GameSetting, playGames } from './player.js';
import {
  carelessPlayer,
  expertPlayer,
  humanPlayer,
  type Player,
  programPlayer,
  QuitError,
} from './players.js';
import type { Reply } from './speaker.js';

type Outside = Pick<CommandContext, 'now' | 'milliseconds' | 'stop' | 'readLine'>;

export interface PlayDisplay {
  show(event: RunEvent, games: readonly GameRecord[]): void;
  close(): void;
}

export async function playInDirectory(
  setup: PlaySetup,
  directory: RunDirectory,
  display: PlayDisplay,
  outside: Outside,
): Promise<void> {
  const requests = watchStopRequests(directory.path, outside.stop);
  const play = new Play(setup, directory, display, { ...outside, stop: requests.stop });
  try {
    await play.run();
  } catch (error) {
    directory.update({ status: 'failed', activeMs: play.activeMs() });
    throw error;
  } finally {
    requests.close();
    display.close();
    // Save first: closing a user's environment or model may hang.
    await directory.close();
    await setup.arena.close();
    await setup.model?.close?.();
    setup.program?.family.close?.();
  }
}

class Play {
  readonly #setup: PlaySetup;
  readonly #directory: RunDirectory;
  readonly #display: PlayDisplay;
  readonly #outside: Outside;
  readonly #started: number;
  readonly #earlierMs: number;
  readonly #games: GameRecord[];
  /** Calls in games that an earlier process didn't finish. */
  readonly #unfinished: readonly CallRecord[];
  readonly #arrived: readonly EndedCall[];
  readonly #warned = new Set<string>();
  readonly #onFault = firstFaults((event) => this.#emit(event));
  /** 1-based index of the current batch of concurrent games; 0 before the first. */
  #wave: number;
  #isReached = false;

  constructor(setup: PlaySetup, directory: RunDirectory, display: PlayDisplay, outside: Outside) {
    const { recorded } = directory;
    this.#setup = setup;
    this.#directory = directory;
    this.#display = display;
    this.#outside = outside;
    this.#started = outside.milliseconds();
    this.#earlierMs = directory.manifest.activeMs;
    this.#games = [...gamesOf(recorded)];
    this.#wave = recorded.iteration;
    const unfinished: CallRecord[] = [];
    for (const call of recorded.calls) {
      setup.ledger.record(call);
      if (call.iteration > recorded.iteration) unfinished.push(call);
    }
    this.#unfinished = unfinished;
    this.#arrived = recorded.arrived ?? [];
    for (const call of this.#arrived) setup.ledger.record(call);
  }

  activeMs = (): number => this.#earlierMs + this.#outside.milliseconds() - this.#started;

  async run(): Promise<void> {
    const { arena, config, ledger, model } = this.#setup;
    this.#keep({ status: 'running', reason: undefined });
    this.#emit({
      kind: 'run-started',
      run: this.#directory.manifest.run,
      environment: config.environment.id,
      model: model?.id ?? `player/${playerName(config)}`,
      parameters: 0,
      iterations: config.episodes,
      ...(this.#games.length > 0 && { resumedAt: this.#games.length }),
    });
    let reason: StopReason = { kind: 'iterations' };
    try {
      while (this.#games.length < config.episodes) {
        this.#requireTime();
        await this.#playWave(Math.min(config.parallel, arena.batch.slots));
      }
    } catch (error) {
      reason = this.#reasonOf(error);
    }
    const caps = ledger.caps({ evaluations: 0, ms: this.activeMs() });
    this.#keep({ status: statusAfter(reason), reason });
    this.#emit({ kind: 'run-finished', reason, usage: ledger.totals, ...(caps.length > 0 && { caps }) });
  }

  /** @throws GamesStopped after a stop request, or if time is up */
  #requireTime(): void {
    const { finish, abort } = this.#outside.stop;
    if (finish.aborted || abort.aborted) throw new GamesStopped({ kind: 'interrupted' });
    if (this.#leftMs() <= 0) throw new GamesStopped({ kind: 'limit', limit: 'minutes' });
  }

  #leftMs(): number {
    const { minutes } = this.#setup.config.limits;
    return minutes === undefined ? Number.POSITIVE_INFINITY : minutes * 60_000 - this.activeMs();
  }

  /** The reason why the play run ends. @throws errors that aren't a stop or a failure of the model or environment */
  #reasonOf(error: unknown): StopReason {
    if (error instanceof GamesStopped) return error.reason;
    if (this.#outside.stop.abort.aborted || error instanceof QuitError) return { kind: 'interrupted' };
    if (error instanceof ModelError) return { kind: 'model-error', message: error.message };
    if (!(error instanceof EnvironmentError)) throw error;
    return { kind: 'environment-error', failure: error.kind, message: error.message };
  }

  async #playWave(size: number): Promise<void> {
    const { arena, config, ledger, starts } = this.#setup;
    const first = this.#games.length;
    this.#wave++;
    const wave = starts.slice(first, first + size);
    const { policy } = config;
    const setting: GameSetting<ModelReply> = {
      arena,
      ...this.#player(),
      history: policy.history,
      historyTokens: policy.historyTokens,
      maxTurns: config.maxSteps,
    };
    const sampling = deriveSeeds(config.seed, [samplingStream, this.#wave], wave.length);
    const play = () =>
      playGames(
        setting,
        wave.map((start, i) => ({ start, sampling: sampling[i]! })),
      );
    const games = await (isProgram(config.player) ? faultsInFile(config.player, play) : play());
    const isAsked = config.player === 'model' || config.player === 'human';
    const named = this.#setup.agent.choices()?.filter(({ action, text }) => text !== String(action));
    const names = new Map(named?.map(({ action, text }) => [action, text]));
    for (const [i, game] of games.entries()) {
      const place = { iteration: this.#wave, candidate: i, episode: first + i, seed: wave[i]! };
      const record = recordOf(game, isAsked, place, names);
      this.#games.push(record);
      this.#emit({ kind: 'game-finished', game: record });
    }
    const caps = ledger.caps({ evaluations: 0, ms: this.activeMs() });
    this.#keep({});
    this.#emit({
      kind: 'iteration-finished',
      iteration: this.#wave,
      score: mean(games.map((game) => game.return)),
      usage: ledger.totals,
      ...(caps.length > 0 && { caps }),
    });
    await this.#directory.commit();
  }

  #player(): Player<ModelReply> {
    const { agent, arena, config, program } = this.#setup;
    switch (config.player) {
      case 'expert':
        return expertPlayer(agent, arena);
      case 'random':
      case 'first':
        return carelessPlayer(agent, config.player);
      case 'human':
        return humanPlayer(agent, this.#outside.readLine!);
      case 'model':
        return this.#model();
      default:
        return programPlayer(agent, arena, () => program!.family.build(program!.parameters));
    }
  }

  #model(): Player<ModelReply> {
    const { agent, config, ledger, model } = this.#setup;
    const { policy } = config;
    const { abort, finish } = this.#outside.stop;
    const leftMs = this.#leftMs();
    const timer = Number.isFinite(leftMs)
      ? AbortSignal.timeout(Math.round(Math.max(0, Math.min(leftMs, 2 ** 31 - 1))))
      : undefined;
    const isHere = (call: EndedCall, ...[candidate, attempt, messages]: Place) =>
      call.iteration === this.#wave &&
      call.candidate === candidate &&
      call.attempt === attempt &&
      JSON.stringify(call.messages) === JSON.stringify(messages);
    const isFollowed = ({ candidate, attempt, iteration }: CallRecord) =>
      this.#unfinished.some(
        (later) => later.iteration === iteration && later.candidate === candidate && later.attempt > attempt,
      );
    return {
      agent,
      fallback: policy.fallback,
      asks: policy.asks,
      speaker: modelSpeaker({
        agent,
        finish,
        ledger,
        policy,
        model: model!,
        wave: this.#wave,
        concurrency: callsAtOnce(config),
        signal: timer === undefined ? abort : AbortSignal.any([abort, timer]),
        timeUp: () => (timer?.aborted && !abort.aborted ? 'minutes' : undefined),
        now: this.#outside.now,
        isReached: () => this.#isReached,
        ask: (request) => this.#directory.ask(request),
        onFault: this.#onFault,
        onWait: (ms) => this.#emit({ kind: 'rate-limited', seconds: Math.round(ms / 1000) }),
        // Ignore a failed call if it was the last one of its game, so that it is retried.
        recorded: (...place) =>
          this.#unfinished.findLast(
            (call) => isHere(call, ...place) && (call.outcome.kind !== 'error' || isFollowed(call)),
          ),
        arrived: (...place) => this.#arrived.findLast((call) => isHere(call, ...place)),
        onCall: (call) => this.#onCall(call),
      }),
    };
  }

  #onCall(call: CallRecord): void {
    this.#isReached ||= call.completion !== undefined || faultsOf(call).some((fault) => fault !== 'network');
    this.#emit({ kind: 'call-finished', call });
    for (const message of call.completion?.warnings ?? []) {
      if (this.#warned.has(message)) continue;
      this.#warned.add(message);
      this.#emit({ kind: 'warning', message });
    }
  }

  #emit(event: RunEvent): void {
    this.#directory.record(event);
    this.#display.show(event, this.#games);
  }

  #keep(changes: Parameters<RunDirectory['update']>[0]): void {
    const { config, ledger } = this.#setup;
    const caps = ledger.caps({ evaluations: 0, ms: this.activeMs() });
    const isOver = changes.status !== undefined && changes.status !== 'running';
    const { meanReturn, meanScore } = playMeans(this.#games);
    const { returnCi95, scoreCi95 } = isOver ? playFigures(this.#games) : noIntervals;
    this.#directory.update({
      iterations: { done: this.#games.length, of: config.episodes },
      usage: ledger.totals,
      caps: caps.length > 0 ? caps : undefined,
      activeMs: this.activeMs(),
      play: {
        player: playerName(config),
        ...(meanReturn !== null && { meanReturn, ci95: returnCi95 }),
        ...(meanScore !== null && { meanScore, scoreCi95 }),
      },
      ...changes,
    });
  }
}

/** Used while the play run is running, because intervals are computed only at its end. */
const noIntervals = { returnCi95: null, scoreCi95: null };

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
