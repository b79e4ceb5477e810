/** Makes imitation examples from well-played games: a prompt with the observation, and the player's reply to it. */
import { join } from 'node:path';
import { loadPlayConfig, type PlayConfig } from '../../src/agents/play-config.js';
import { openAgent, type PromptedAgent } from '../../src/agents/prompted-agent.js';
import { replyFormatOf } from '../../src/agents/reading.js';
import { type Exchange, messagesOf } from '../../src/agents/speaker.js';
import { UserError } from '../../src/base/errors.js';
import { readJsonLines } from '../../src/base/files/json-lines.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { findAnswer } from '../../src/models/answer-text.js';
import { estimatePromptTokens } from '../../src/prompting/token-estimate.js';
import type { GameRecord, GameTurn } from '../../src/runs/events.js';
import type { Manifest } from '../../src/runs/manifest.js';
import { requireConfig } from '../../src/runs/open-run.js';
import { readManifest, runFiles } from '../../src/runs/reader.js';
import { type Imitation, promptHash, sha256 } from './example.js';
import { fileHash } from './lineage.js';
import { type RunToSplit, type ValidationPlan, validationRuns } from './split.js';

/** Selects the games to imitate, and the number of turns that prompts show. */
export interface DemonstrationOptions {
  /** Minimum return of the games to imitate. */
  readonly minReturn?: number | undefined;
  /** Fraction of each agent run's games to imitate, best first; in (0, 1]. */
  readonly bestShare?: number | undefined;
  /** Number of previous turns in a prompt. Default: as in the agent run. */
  readonly history?: number | undefined;
}

export interface PlayedGames {
  readonly name: string;
  readonly manifest: Manifest;
  readonly hash: string;
  readonly agent: PromptedAgent;
  readonly config: PlayConfig;
  readonly games: readonly GameRecord[];
  readonly gameCount: number;
}

/** @throws UserError if there is no agent run at `path`, or it is damaged */
export async function readPlay(
  path: string,
  name: string,
  { bestShare = 1, minReturn = Number.NEGATIVE_INFINITY }: DemonstrationOptions,
): Promise<PlayedGames> {
  const manifest = readManifest(path);
  if (manifest.play === undefined)
    throw new UserError({
      field: '--recipe',
      message: "this run wasn't made with policyloop play",
      value: path,
      hint: 'use another recipe, or runs of policyloop play',
    });
  const file = requireConfig(join(path, runFiles.config));
  const { config } = loadPlayConfig(file, [], '', true);
  const { id, options } = config.environment;
  const agent = openAgent({
    environment: manifest.spec === undefined ? await makeEnvironment(id, options) : { ...manifest.spec, id },
    options,
    maxSteps: config.maxSteps,
    prompts: config.policy.prompts,
    replyFormat: replyFormatOf(config.policy.act),
    field: 'policy.prompts',
  });
  const episodes = join(path, runFiles.episodes);
  const games = readJsonLines<GameRecord>(episodes, { repair: false }) ?? [];
  const best = games.toSorted((a, b) => b.return - a.return).slice(0, Math.ceil(bestShare * games.length));
  return {
    name,
    manifest,
    agent,
    config,
    gameCount: games.length,
    games: games.filter((game) => best.includes(game) && game.return >= minReturn),
    hash: sha256([file, episodes].map(fileHash).join('\n')),
  };
}

/** Makes one example per turn, with the reply as the completion. Skips replies without a valid action. */
export function gameExamples(play: PlayedGames, options: DemonstrationOptions): readonly Imitation[] {
  return play.games.flatMap((game) => imitationsOf(play, game, options));
}

function imitationsOf(
  { agent, config: { policy }, manifest, name }: PlayedGames,
  game: GameRecord,
  { history = policy.history }: DemonstrationOptions,
): readonly Imitation[] {
  const { historyTokens = Number.POSITIVE_INFINITY } = policy;
  const exchanges = game.turns.map((turn): Exchange => {
    return { message: turn.message, reply: { text: turn.reply ?? replyFor(turn, policy.act) } };
  });
  return game.turns.flatMap((turn, turnIndex) => {
    if (turn.action === undefined || turn.valid === false) return [];
    const { message, reply } = exchanges[turnIndex]!;
    const build = (before: readonly Exchange[]) =>
      messagesOf({
        system: agent.systemPrompt(before.length === turnIndex ? undefined : game.objective),
        before,
        message,
      });
    let before = exchanges.slice(Math.max(0, turnIndex - history), turnIndex);
    while (before.length > 0 && estimatePromptTokens(build(before)) > historyTokens) before = before.slice(1);
    const prompt = build(before);
    return [
      {
        kind: 'imitation',
        prompt,
        completion: findAnswer(reply.text).text.trim(),
        weight: 1,
        lineage: {
          run: name,
          environment: manifest.environment,
          model: manifest.model,
          recipe: 'demonstrations',
          prompt: promptHash(prompt),
          promptIteration: turnIndex + 1,
          iteration: turnIndex + 1,
          candidate: game.episode,
          score: game.return,
          history: before.length,
        },
      },
    ];
  });
}

/** Returns the reply that a model would have given to choose this action. */
function replyFor({ action, words }: GameTurn, act: PlayConfig['policy']['act']): string {
  if (act === 'json') return JSON.stringify({ action: words ?? action });
  return words ?? (Array.isArray(action) ? action.join(', ') : String(action ?? ''));
}

export const gameName = (run: string, episode: number): string => `${run}, game ${episode}`;

/**
 * Chooses the games to hold out. With a fraction, games with the same start or the same turns stay together.
 * @throws UserError for an unknown name
 */
export function heldOutGames(
  plays: readonly PlayedGames[],
  plan: ValidationPlan,
  seed: number,
): ReadonlySet<string> {
  const games = plays.flatMap((play) =>
    play.games.map((game): RunToSplit & { readonly run: string } => {
      const { environment } = play.config;
      return {
        name: gameName(play.name, game.episode),
        run: play.name,
        environment: play.manifest.environment,
        size: game.turns.length,
        keys: [
          `seed ${JSON.stringify(environment)} ${game.seed}`,
          sha256(JSON.stringify(game.turns.map(({ message, action }) => [message, action ?? null]))),
        ],
      };
    }),
  );
  if (plan.kind !== 'named') return validationRuns(games, plan, seed);
  const runs = plays.map(({ name, manifest }) => ({ name, environment: manifest.environment, keys: [] }));
  const heldOutRuns = validationRuns(runs, plan, seed);
  return new Set(games.flatMap(({ name, run }) => (heldOutRuns.has(run) ? [name] : [])));
}
