/** Draws a run's episodes. */

import { isModulePath } from '../base/modules/user-module.js';
import { evaluationSeeds } from '../base/random/seeds.js';
import type { Config } from '../config/config.js';
import { isRemoteId, isSelfContainedId } from '../environments/catalogue/open.js';
import type { Environment } from '../environments/environment.js';
import type { PolicyFamily } from '../policies/policy.js';
import type { Animation } from '../rollout/pictures/animation.js';
import { svgAnimation } from '../rollout/pictures/svg-animation.js';
import { canDraw, notDrawableError, type Replay, replay } from '../rollout/replay.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { makeTask } from '../rollout/task.js';
import { candidateName } from '../runs/summary.js';

export interface ReplaySetup {
  readonly config: Config;
  readonly seed: number;
  readonly environment: Environment;
  readonly family: PolicyFamily;
  /** Shown in the title; defaults to `candidateName`, e.g. `iteration 12`. */
  readonly policyName?: string | undefined;
}

/** An episode of the evaluation (0-based index), or any episode by its seed. */
export type EpisodeChoice =
  | { readonly kind: 'evaluated'; readonly episode: number }
  | { readonly kind: 'seed'; readonly seed: number };

export interface DrawnEpisode {
  readonly seed: number;
  /** 0-based index among the episodes of the evaluation. */
  readonly episode?: number;
  /** The return that the evaluation recorded for this episode. */
  readonly recorded?: number;
  readonly replay: Replay;
  readonly animation: Animation;
}

/** True if drawing needs only built-in parts: no module, no policy program and no environment of another process. */
export const isSelfContained = ({ environment, evaluation, policy }: Config): boolean =>
  isSelfContainedId(environment.id) &&
  policy?.kind !== 'module' &&
  policy?.kind !== 'program' &&
  !(evaluation.reward !== undefined && isModulePath(String(evaluation.reward)));

/** @throws UserError if the environment can't be drawn */
export async function openDrawable(
  { environment: environmentConfig, evaluation }: Config,
  field?: string,
): Promise<Environment> {
  const { id } = environmentConfig;
  if (isRemoteId(id)) throw notDrawableError(id, field);
  const environment = await makeTask(environmentConfig, evaluation.reward);
  if (canDraw(environment)) return environment;
  environment.close?.();
  throw notDrawableError(id, field);
}

const defaultMaxFrames = 300;

/** Replays an episode and prepares its animation. */
export function drawEpisode(
  { config, seed: rootSeed, environment, family, policyName }: ReplaySetup,
  entry: BufferEntry,
  choice: EpisodeChoice,
  maxFrames = defaultMaxFrames,
): DrawnEpisode {
  const seeds = seedsOf(entry, config, rootSeed);
  const episode = choice.kind === 'evaluated' ? choice.episode : seeds.indexOf(choice.seed);
  const seed = choice.kind === 'evaluated' ? seeds[episode]! : choice.seed;
  const setup = { environment, family, maxSteps: config.evaluation.maxSteps };
  const playback = replay(setup, entry.parameters, seed, maxFrames);
  const title = `${environment.id} · ${policyName ?? candidateName(entry, config)}`;
  return {
    seed,
    ...(episode >= 0 && { episode }),
    // An episode chosen by its seed may not belong to the evaluation.
    ...(entry.returns[episode] !== undefined && { recorded: entry.returns[episode] }),
    replay: playback,
    animation: { title, moments: playback.moments, pace: playback.pace },
  };
}

function seedsOf({ iteration }: BufferEntry, { evaluation }: Config, rootSeed: number): readonly number[] {
  const freshIteration = evaluation.seeds === 'fresh' && iteration > 0 ? iteration : undefined;
  return evaluationSeeds(rootSeed, evaluation.episodes, freshIteration);
}

const maxSvgBytes = 60_000;

/** Draws an episode as an SVG. Skips frames until it fits into 60 kB or only two frames are left. */
export function drawCompactSvg(
  draw: (maxFrames: number) => DrawnEpisode,
  width: number,
): DrawnEpisode & { readonly svg: string } {
  for (let maxFrames = defaultMaxFrames; ; ) {
    const drawnEpisode = draw(maxFrames);
    const svg = svgAnimation(drawnEpisode.animation, width);
    const bytes = Buffer.byteLength(svg);
    if (bytes <= maxSvgBytes || maxFrames <= 2) return { ...drawnEpisode, svg };
    maxFrames = Math.max(2, Math.floor((maxFrames * 0.95 * maxSvgBytes) / bytes));
  }
}
