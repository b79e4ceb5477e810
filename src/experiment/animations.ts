/** Draws a run's episodes, and manages its picture files. */
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { isRemoteId, isSelfContained } from '../environments/catalogue/open.js';
import type { Environment } from '../environments/environment.js';
import { isModulePath } from '../modules/user-module.js';
import type { PolicyFamily } from '../policies/policy.js';
import { evaluationSeeds } from '../random/seeds.js';
import type { Animation } from '../render/animation.js';
import { svgAnimation } from '../render/svg-animation.js';
import { canDraw, notDrawn, type Replay, replay } from '../rollout/replay.js';
import { type BufferEntry, bestEntries } from '../rollout/replay-buffer.js';
import { makeTask } from '../rollout/task.js';
import { runFiles } from '../runs/reader.js';
import { placeName } from '../runs/summary.js';
import type { RunDirectory } from '../runs/writer.js';
import { replaceFile } from '../storage/files.js';
import type { Assembly } from './assemble.js';

export interface ReplaySetting {
  readonly config: Config;
  readonly seed: number;
  readonly environment: Environment;
  readonly family: PolicyFamily;
  /** Shown in the title; defaults to the policy's iteration and candidate number. */
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

/** True if drawing executes neither user modules nor programs. */
export const isDrawnFromConfig = ({ environment, evaluation, policy }: Config): boolean =>
  isSelfContained(environment.id) &&
  policy?.kind !== 'module' &&
  policy?.kind !== 'program' &&
  !(evaluation.reward !== undefined && isModulePath(String(evaluation.reward)));

/** @throws UserError if the environment can't be drawn */
export async function openDrawable(
  { environment: source, evaluation }: Config,
  field?: string,
): Promise<Environment> {
  const { id } = source;
  if (isRemoteId(id)) throw notDrawn(id, field);
  const environment = await makeTask(source, evaluation.reward);
  if (canDraw(environment)) return environment;
  environment.close?.();
  throw notDrawn(id, field);
}

/** Replays an episode and prepares its animation. */
export function drawEpisode(
  { config, seed: root, environment, family, policyName }: ReplaySetting,
  entry: BufferEntry,
  choice: EpisodeChoice,
  options: { readonly maxFrames: number; readonly fps?: number | undefined },
): DrawnEpisode {
  const seeds = seedsOf(entry, config, root);
  const episode = choice.kind === 'evaluated' ? choice.episode : seeds.indexOf(choice.seed);
  const seed = choice.kind === 'evaluated' ? seeds[episode]! : choice.seed;
  const setting = { environment, family, maxSteps: config.evaluation.maxSteps };
  const played = replay(setting, entry.parameters, seed, options);
  const { id } = isModulePath(config.environment.id) ? environment : config.environment;
  const title = `${id} · ${policyName ?? placeName(entry, config)}`;
  return {
    seed,
    ...(episode >= 0 && { episode }),
    // If the evaluation was cut short, it may not include this episode.
    ...(entry.returns[episode] !== undefined && { recorded: entry.returns[episode] }),
    replay: played,
    animation: { title, moments: played.moments, pace: played.pace },
  };
}

function seedsOf({ iteration }: BufferEntry, { evaluation }: Config, root: number): readonly number[] {
  const fresh = evaluation.seeds === 'fresh' && iteration > 0 ? iteration : undefined;
  return evaluationSeeds(root, evaluation.episodes, fresh);
}

const mostFrames = 300;
const largestBytes = 60_000;

/** Draws an episode as an SVG. Skips frames until it fits into 60 kB or only two frames are left. */
export function drawBounded(
  draw: (maxFrames: number) => DrawnEpisode,
  width: number,
): DrawnEpisode & { readonly svg: string } {
  for (let maxFrames = mostFrames; ; ) {
    const drawn = draw(maxFrames);
    const svg = svgAnimation(drawn.animation, width);
    const bytes = Buffer.byteLength(svg);
    if (bytes <= largestBytes || maxFrames <= 2) return { ...drawn, svg };
    maxFrames = Math.max(2, Math.floor((maxFrames * 0.95 * largestBytes) / bytes));
  }
}

/** Creates a run's picture folder. @throws UserError if it is a symbolic link, which could point outside the run */
export function makeAnimationsFolder(run: string): string {
  const folder = join(run, runFiles.animations);
  mkdirSync(folder, { recursive: true });
  if (lstatSync(folder).isDirectory()) return folder;
  throw new UserError({
    file: folder,
    message: 'this is a link, not a folder; a run must store its pictures in its own directory',
    remedy: 'remove the link',
  });
}

/** Zero-padded (`iteration-0010`), so names sort by iteration. */
export function iterationName(iteration: number): string {
  return `iteration-${String(iteration).padStart(4, '0')}`;
}

/** The pictures of iterations that a run has drawn so far, sorted by iteration. */
export function drawnIterations(
  run: string,
): readonly { readonly iteration: number; readonly file: string }[] {
  let names: readonly string[];
  try {
    names = readdirSync(join(run, runFiles.animations));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
  return names
    .flatMap((name) => {
      const iteration = /^iteration-(\d{4,})\.svg$/.exec(name)?.[1];
      return iteration === undefined
        ? []
        : [{ iteration: Number(iteration), file: `${runFiles.animations}/${name}` }];
    })
    .toSorted((a, b) => a.iteration - b.iteration);
}

export interface IterationAnimations {
  /**
   * Draws all missing pictures up to this iteration, including any left undrawn when the run was killed.
   * @param warn receives drawing failures, which don't stop the run
   */
  drawUpTo(iteration: number, entries: readonly BufferEntry[], warn: (message: string) => void): void;
  close(): void;
}

const width = 480; // pixels

/**
 * Prepares drawing for a run that is about to start; undefined if its config doesn't ask for pictures.
 * @throws UserError if the config asks for pictures of an environment that can't be drawn
 */
export async function openIterationAnimations(
  { config, family }: Assembly,
  { path, manifest, recorded }: RunDirectory,
): Promise<IterationAnimations | undefined> {
  const { every } = config.render;
  if (every === undefined) return undefined;
  // Iterations that weren't fully recorded are repeated and may turn out differently.
  for (const { iteration, file } of drawnIterations(path)) {
    if (iteration > recorded.iteration) rmSync(join(path, file));
  }
  const environment = await openDrawable(config, 'render.every');
  await family.prepare?.();
  const setting = { config, seed: manifest.seed, environment, family };
  const draw = (iteration: number, entries: readonly BufferEntry[]): void => {
    const file = join(path, runFiles.animations, `${iterationName(iteration)}.svg`);
    if (existsSync(file)) return;
    const [entry] = bestEntries(
      entries.filter((one) => one.iteration === iteration),
      1,
    );
    if (entry === undefined) return; // all candidates were rejected, or cut short by racing
    makeAnimationsFolder(path);
    const { svg } = drawBounded(
      (maxFrames) => drawEpisode(setting, entry, { kind: 'evaluated', episode: 0 }, { maxFrames }),
      width,
    );
    replaceFile(file, svg);
  };
  let next = every;
  return {
    drawUpTo(iteration, entries, warn) {
      for (; next <= iteration; next += every) {
        try {
          draw(next, entries);
        } catch (error) {
          warn(`the episode of iteration ${next} could not be drawn: ${messageOf(error)}`);
        }
      }
    },
    close: () => environment.close?.(),
  };
}
