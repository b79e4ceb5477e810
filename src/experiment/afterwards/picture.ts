/** Draws an episode of a run's policy, or of a program file, as an animation. */
import { basename, join } from 'node:path';
import { type CommandContext, requireCount, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { plural } from '../../format/numbers.js';
import { createProgress } from '../../format/progress.js';
import { durationOf, type PictureFormat } from '../../render/animation.js';
import { gifAnimation } from '../../render/gif-animation.js';
import { svgAnimation } from '../../render/svg-animation.js';
import { choosePolicy, type NotablePolicy } from '../../runs/open-run.js';
import { placeName } from '../../runs/summary.js';
import { replaceFile } from '../../storage/files.js';
import {
  type DrawnEpisode,
  drawEpisode,
  type EpisodeChoice,
  iterationName,
  makeAnimationsFolder,
  openDrawable,
} from '../animations.js';
import { faultsInFile, openPlayedPolicy, type PlayedPolicy } from '../programs/program-file.js';

interface PictureRequest {
  /** A run, or a program file. */
  readonly run: string;
  readonly runsDir: string;
  /** Environment to play; required for a program file, invalid for a run. */
  readonly environment?: string | undefined;
  readonly iteration: NotablePolicy | number;
  /** 1-based candidate number within the iteration; defaults to the iteration's best. */
  readonly candidate?: number | undefined;
  /** 1-based number of an evaluated episode; use `seed` for any other episode. */
  readonly episode?: number | undefined;
  readonly seed?: number | undefined;
  readonly format: PictureFormat;
  /** Output path; see `defaultFile` for the default. */
  readonly file: string | undefined;
  /** Width in pixels. */
  readonly size: number;
  readonly maxFrames: number;
  /** Frames per second; defaults to the task's own speed. */
  readonly fps?: number | undefined;
  readonly quiet: boolean;
  readonly json: boolean;
}

/** Output of `render --json`. */
export interface PictureFigures {
  readonly run: string;
  readonly environment: string;
  /** Null for a program file. */
  readonly iteration: number | null;
  /** 0-based; null for a program file. */
  readonly candidate: number | null;
  /** 0-based index among the evaluated episodes; null if the seed isn't among them. */
  readonly episode: number | null;
  readonly seed: number;
  readonly return: number;
  /** Episode length, in steps. */
  readonly length: number;
  /** Return recorded when the run evaluated this episode; null if it didn't. */
  readonly recorded: number | null;
  readonly asRecorded: boolean | null;
  readonly out: string;
  readonly format: PictureFormat;
  readonly bytes: number;
  readonly frames: number;
  readonly seconds: number;
  /** Playback speed relative to the task's own; null if they differ by at most 5% or the task has none. */
  readonly speed: number | null;
}

/** Replays an episode and writes the picture to a file. */
export async function drawPicture(
  request: PictureRequest,
  context: CommandContext,
): Promise<{ readonly policy: string; readonly figures: PictureFigures }> {
  const { format } = request;
  const played = await openPlayedPolicy(request, context, (opened) =>
    choosePolicy(opened, request.iteration, request.candidate),
  );
  const { entry, run } = played;
  const drawn = await faultsInFile(played.file ?? '', () => draw(played, request, context));
  const { animation, picture, replay, recorded } = drawn;
  const file = request.file ?? defaultFile(played, drawn, request);
  replaceFile(file, picture);
  return {
    policy: played.file === undefined ? `policy of ${placeName(entry, run.config)}` : request.run,
    figures: {
      run: request.run,
      environment: run.manifest.environment,
      iteration: played.file === undefined ? entry.iteration : null,
      candidate: played.file === undefined ? entry.candidate : null,
      episode: drawn.episode ?? null,
      seed: drawn.seed,
      return: replay.return,
      length: replay.length,
      recorded: recorded ?? null,
      asRecorded: recorded === undefined ? null : recorded === replay.return,
      out: shownPath(file, context.cwd),
      format,
      bytes: Buffer.byteLength(picture),
      frames: animation.moments.length,
      seconds: durationOf(animation),
      speed: animation.pace.speed ?? null,
    },
  };
}

async function draw(
  { entry, file, run }: PlayedPolicy,
  request: PictureRequest,
  context: CommandContext,
): Promise<DrawnEpisode & { readonly picture: string | Uint8Array }> {
  const { config, family, manifest } = run;
  const { format, size } = request;
  const choice = chooseEpisode(run, request);
  const environment = await openDrawable(config);
  await family.prepare?.();
  const progress = createProgress(request, context);
  try {
    const policyName = file && basename(file);
    const setting = { config, family, environment, seed: manifest.seed, policyName };
    const drawn = drawEpisode(setting, entry, choice, request);
    const { animation } = drawn;
    if (format === 'svg') return { ...drawn, picture: svgAnimation(animation, size) };
    const { bytes } = gifAnimation(animation, size, (done) => {
      if (done === 1) progress.begin({ label: 'frames', total: animation.moments.length });
      progress.update(done);
    });
    return { ...drawn, picture: bytes };
  } finally {
    progress.close();
    environment.close?.();
  }
}

function chooseEpisode(
  { config }: PlayedPolicy['run'],
  { episode = 1, run, seed }: PictureRequest,
): EpisodeChoice {
  if (seed !== undefined) {
    requireCount('--seed', seed, 0);
    return { kind: 'seed', seed };
  }
  const { episodes } = config.evaluation;
  if (requireCount('--episode', episode, 1) <= episodes) return { kind: 'evaluated', episode: episode - 1 };
  throw new UserError({
    field: '--episode',
    message: `evaluations of ${run} have only ${plural(episodes, 'episode')}`,
    value: episode,
    alternatives: [episodes === 1 ? '1' : `1–${episodes}`],
    remedy: 'use --seed for any other episode',
  });
}

/** Default path of the picture: in the run's folder of pictures, or next to the program file. */
function defaultFile(
  { entry, file, path = '', run: { config } }: PlayedPolicy,
  { episode, seed }: DrawnEpisode,
  { format, iteration: wanted }: PictureRequest,
): string {
  const several = entry.iteration === 0 || config.candidates > 1;
  const policy =
    typeof wanted === 'number'
      ? `${iterationName(entry.iteration)}${several ? `-candidate-${entry.candidate + 1}` : ''}`
      : wanted;
  const which = episode === undefined ? `seed-${seed}` : `episode-${episode + 1}`;
  if (file !== undefined) return file.replace(/\.m?js$/, `-${which}.${format}`);
  return join(makeAnimationsFolder(path), `${policy}-${which}.${format}`);
}
