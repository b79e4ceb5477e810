import { existsSync, statSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import { type CommandContext, requireCount, shownPath } from '../base/context.js';
import { UserError } from '../base/errors.js';
import {
  type DrawnEpisode,
  drawEpisode,
  type EpisodeChoice,
  iterationName,
  makeAnimationsFolder,
  openDrawable,
} from '../experiment/animations.js';
import { formatBytes, formatReturn } from '../format/numbers.js';
import { createProgress } from '../format/progress.js';
import { durationOf, type PictureFormat, pictureFormats } from '../render/animation.js';
import { gifAnimation } from '../render/gif-animation.js';
import { svgAnimation } from '../render/svg-animation.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { findRun } from '../runs/listing/names.js';
import { choosePolicy, type NotablePolicy, type OpenedRun, readWholeRun } from '../runs/open-run.js';
import { placeName } from '../runs/summary.js';
import { replaceFile } from '../storage/files.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .option('runs-dir', common.runsDir)
    .option('iteration', {
      ...kinds.text,
      default: 'best',
      describe: 'best, worst or first policy, or an iteration number (0: the warm-up)',
    })
    .option('candidate', {
      ...kinds.number,
      describe: 'Candidate of that iteration, from 1 (default: its best)',
    })
    .option('episode', {
      ...kinds.number,
      describe: 'Episode of the evaluation, from 1 (default: 1)',
    })
    .option('seed', { ...kinds.number, describe: 'Seed of another episode' })
    .conflicts('episode', 'seed')
    .option('format', { ...kinds.text, describe: 'gif or svg (default: by --out, otherwise gif)' })
    .option('out', {
      ...kinds.text,
      describe: 'File to write (default: a new one in animations/ of the run)',
    })
    .option('fps', {
      ...kinds.number,
      describe: "Frames per second (default: the task's speed, or faster if that takes over 20 s)",
    })
    .option('size', { ...kinds.number, default: 480, describe: 'Width in pixels' })
    .option('max-frames', {
      ...kinds.number,
      default: 300,
      describe: 'Longer episodes show only every second, third, … step',
    })
    .option('quiet', common.quiet)
    .option('json', common.json)
    .example('$0 render cartpole', 'the best policy, as a GIF')
    .example('$0 render cartpole --iteration 7 --format svg', 'the best candidate of iteration 7');

type Args = Arguments<typeof options>;

/** The picture and the episode that it shows. */
export type Output = PictureFigures;

/** Draws an episode of one of the run's policies. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireRange('--size', args.size, 64, 2048);
  requireRange('--max-frames', args.maxFrames, 2, 5000);
  if (args.fps !== undefined) requireRange('--fps', args.fps, 1, 50);
  const format = formatOf(args);
  const iteration = readIteration(args.iteration);
  const file = args.out === undefined ? undefined : readOut(args.out, context.cwd);

  const { policy, told } = await drawPicture({ ...args, format, iteration, file }, context);
  if (args.json) {
    context.print(JSON.stringify(told));
    return 0;
  }
  const which = told.episode === null ? '' : `episode ${told.episode + 1}, `;
  context.print(
    [
      `${told.environment}, policy of ${policy}, ${which}seed ${told.seed}: return ${formatReturn(told.return)} in ${told.length} steps${told.asRecorded === true ? ', as recorded' : ''}`,
      `${told.out}  ${formatBytes(told.bytes)}, ${told.frames} frames, ${told.seconds.toFixed(1)} s`,
    ].join('\n'),
  );
  if (told.asRecorded === false) {
    context.note(
      `warning: the evaluation recorded a return of ${formatReturn(told.recorded!)} for this episode: the environment has changed since (its options, or the version of policyloop)`,
    );
  }
  return 0;
}

function requireRange(option: string, value: number, low: number, high: number): void {
  if (requireCount(option, value, low) <= high) return;
  throw new UserError({ field: option, message: `must be a whole number of at most ${high}`, value });
}

function formatOf({ format, out }: Args): PictureFormat {
  const ending = out === undefined ? undefined : extname(out).slice(1).toLowerCase();
  const wanted = format ?? ending ?? 'gif';
  const found = pictureFormats.find((one) => one === wanted);
  if (found === undefined) {
    throw new UserError({
      field: format === undefined ? '--out' : '--format',
      message: format === undefined ? 'unknown file format' : 'unknown format',
      value: format ?? out,
      alternatives: format === undefined ? pictureFormats.map((one) => `*.${one}`) : pictureFormats,
    });
  }
  if (ending !== undefined && ending !== found) {
    throw new UserError({
      field: '--out',
      message: `this file name does not end in .${found}`,
      value: out,
      remedy: `name a .${found} file, or leave out --format`,
    });
  }
  return found;
}

function readIteration(text: string): NotablePolicy | number {
  if (text === 'best' || text === 'worst' || text === 'first') return text;
  if (/^\d+$/.test(text)) return Number(text);
  throw new UserError({
    field: '--iteration',
    message: 'give best, worst, first or an iteration number',
    value: text,
  });
}

function readOut(out: string, cwd: string): string {
  const file = resolve(cwd, out);
  const problem = (message: string, remedy: string) =>
    new UserError({ field: '--out', message, value: out, remedy });
  if (!existsSync(dirname(file))) throw problem('the directory does not exist', 'create it first');
  if (existsSync(file) && !statSync(file).isFile()) throw problem('this is not a file', 'name another one');
  return file;
}

interface PictureRequest {
  readonly run: string;
  readonly runsDir: string;
  readonly iteration: NotablePolicy | number;
  /** 1-based candidate number within that iteration; defaults to the best one. */
  readonly candidate?: number | undefined;
  /** 1-based number of an evaluated episode; use `seed` for any other episode. */
  readonly episode?: number | undefined;
  readonly seed?: number | undefined;
  readonly format: PictureFormat;
  /** Output path; defaults to a file in the run's folder. */
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
  readonly iteration: number;
  /** 0-based. */
  readonly candidate: number;
  /** 0-based index among the evaluated episodes; null for a seed outside the evaluation. */
  readonly episode: number | null;
  readonly seed: number;
  readonly return: number;
  /** In steps. */
  readonly length: number;
  /** The return recorded by the evaluation; null if there is none. */
  readonly recorded: number | null;
  readonly asRecorded: boolean | null;
  readonly out: string;
  readonly format: PictureFormat;
  readonly bytes: number;
  readonly frames: number;
  readonly seconds: number;
  /** Playback speed as a multiple of the task's own; null if the task has none. */
  readonly speed: number | null;
}

/** Replays an episode with one of the run's policies and writes the picture. */
export async function drawPicture(
  request: PictureRequest,
  context: CommandContext,
): Promise<{ readonly policy: string; readonly told: PictureFigures }> {
  const { format } = request;
  const run = await readWholeRun(findRun(request.run, { cwd: context.cwd, runsDir: request.runsDir }));
  const entry = choosePolicy(run, request.iteration, request.candidate);
  const drawn = await draw(run, entry, request, context);
  const { animation, picture, replay, recorded } = drawn;
  const file = request.file ?? fileInRun(run, entry, drawn, request);
  replaceFile(file, picture);
  return {
    policy: placeName(entry, run.config),
    told: {
      run: request.run,
      environment: run.manifest.environment,
      iteration: entry.iteration,
      candidate: entry.candidate,
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
  run: OpenedRun,
  entry: BufferEntry,
  request: PictureRequest,
  context: CommandContext,
): Promise<DrawnEpisode & { readonly picture: string | Uint8Array }> {
  const { config, family, manifest } = run;
  const { format, size } = request;
  const choice = chooseEpisode(run, request);
  const environment = await openDrawable(config);
  const progress = createProgress(request, context);
  try {
    const drawn = drawEpisode({ config, family, environment, seed: manifest.seed }, entry, choice, request);
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

function chooseEpisode({ config }: OpenedRun, { episode = 1, run, seed }: PictureRequest): EpisodeChoice {
  if (seed !== undefined) {
    requireCount('--seed', seed, 0);
    return { kind: 'seed', seed };
  }
  const { episodes } = config.evaluation;
  if (requireCount('--episode', episode, 1) <= episodes) return { kind: 'evaluated', episode: episode - 1 };
  throw new UserError({
    field: '--episode',
    message: `${run} evaluates a policy on ${episodes} episodes`,
    value: episode,
    alternatives: [`1–${episodes}`],
    remedy: '--seed plays any other',
  });
}

/** Default path of the picture, inside the run's folder. */
function fileInRun(
  { path, config }: OpenedRun,
  entry: BufferEntry,
  { episode, seed }: DrawnEpisode,
  { format, iteration: wanted }: PictureRequest,
): string {
  const several = entry.iteration === 0 || config.candidates > 1;
  const policy =
    typeof wanted === 'number'
      ? `${iterationName(entry.iteration)}${several ? `-candidate-${entry.candidate + 1}` : ''}`
      : wanted;
  const which = episode === undefined ? `seed-${seed}` : `episode-${episode + 1}`;
  return join(makeAnimationsFolder(path), `${policy}-${which}.${format}`);
}
