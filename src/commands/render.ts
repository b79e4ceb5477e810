import { existsSync, statSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../command.js';
import { type CommandContext, requireCount } from '../context.js';
import { UserError } from '../errors.js';
import {
  type DrawnEpisode,
  drawPicture,
  type EpisodeChoice,
  iterationName,
  makeAnimationsFolder,
  type PictureFormat,
  pictureFormats,
} from '../experiment/animations.js';
import { choosePolicy, type NotablePolicy } from '../experiment/choose-policy.js';
import { formatBytes, formatReturn } from '../format/numbers.js';
import { createProgress } from '../format/progress.js';
import { durationOf } from '../render/animation.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { placeName, shownPath } from '../runs/facts.js';
import { type OpenedRun, openRun } from '../runs/open-run.js';
import { replaceFile } from '../storage/replace-file.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .option('runs-dir', common.runsDir)
    .option('iteration', {
      ...kinds.text,
      default: 'best',
      describe: 'best, worst or first policy, or the number of an iteration (0: the warm-up)',
    })
    .option('candidate', {
      ...kinds.number,
      describe: 'Which candidate of that iteration, from 1 (default: its best)',
    })
    .option('episode', {
      ...kinds.number,
      describe: "Which of the evaluation's episodes, from 1 (default: 1)",
    })
    .option('seed', { ...kinds.number, describe: 'Any other episode, by its seed' })
    .conflicts('episode', 'seed')
    .option('format', { ...kinds.text, describe: 'gif or svg (default: as --out ends, else gif)' })
    .option('out', { ...kinds.text, describe: 'File to write (default: one in animations/ of the run)' })
    .option('fps', {
      ...kinds.number,
      describe: "Frames a second (default: the task's own speed, faster where that takes over 20 s)",
    })
    .option('size', { ...kinds.number, default: 480, describe: 'Width in pixels' })
    .option('max-frames', {
      ...kinds.number,
      default: 300,
      describe: 'Longer episodes are shown with every second, third, … step only',
    })
    .option('quiet', common.quiet)
    .option('json', common.json)
    .example('$0 render cartpole', 'the best policy, as a GIF')
    .example('$0 render cartpole --iteration 7 --format svg', 'the best candidate of iteration 7');

type Args = Arguments<typeof options>;

/** `policyloop render <run>`: an episode of one of its policies as an animation. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireRange('--size', args.size, 64, 2048);
  requireRange('--max-frames', args.maxFrames, 2, 5000);
  if (args.fps !== undefined) requireRange('--fps', args.fps, 1, 50);
  const format = formatOf(args);
  const wanted = readIteration(args.iteration);
  const given = args.out === undefined ? undefined : readOut(args.out, context.cwd);
  const run = await openRun(args, context);
  const entry = choosePolicy(run, wanted, args.candidate);
  const progress = createProgress(args, context);
  const drawn = await drawPicture(run, entry, chooseEpisode(run, args), {
    ...args,
    format,
    onFrame(done, total) {
      if (done === 1) progress.begin({ label: 'frames', total });
      progress.update(done);
    },
  }).finally(() => progress.close());
  const { animation, picture, replay, recorded } = drawn;
  const file = given ?? fileInRun(run, entry, drawn, format, wanted);
  replaceFile(file, picture);
  const out = shownPath(file, context.cwd);
  const asRecorded = recorded === undefined ? undefined : recorded === replay.return;
  if (args.json) {
    context.print(
      JSON.stringify({
        run: args.run,
        environment: run.manifest.environment,
        iteration: entry.iteration,
        candidate: entry.candidate,
        episode: drawn.episode ?? null,
        seed: drawn.seed,
        return: replay.return,
        length: replay.length,
        recorded: recorded ?? null,
        asRecorded: asRecorded ?? null,
        out,
        format,
        bytes: Buffer.byteLength(picture),
        frames: animation.moments.length,
        seconds: durationOf(animation),
        speed: animation.pace.speed ?? null,
      }),
    );
    return 0;
  }
  const comparison = asRecorded === undefined ? '' : asRecorded ? ', as recorded' : '';
  const which = drawn.episode === undefined ? '' : `episode ${drawn.episode + 1}, `;
  context.print(
    [
      `${run.manifest.environment}, the policy of ${placeName(entry, run.config)}, ${which}seed ${drawn.seed}: return ${formatReturn(replay.return)} in ${replay.length} steps${comparison}`,
      `${out}  ${formatBytes(Buffer.byteLength(picture))}, ${animation.moments.length} frames, ${durationOf(animation).toFixed(1)} s`,
    ].join('\n'),
  );
  if (asRecorded === false) {
    context.note(
      `warning: the evaluation recorded a return of ${formatReturn(recorded!)} for this episode: the environment is not what it was then (its options, or another version of policyloop)`,
    );
  }
  return 0;
}

function requireRange(option: string, value: number, low: number, high: number): void {
  if (requireCount(option, value, low) <= high) return;
  throw new UserError({ field: option, message: `give a whole number of at most ${high}`, value });
}

function formatOf({ format, out }: Args): PictureFormat {
  const ending = out === undefined ? undefined : extname(out).slice(1).toLowerCase();
  const wanted = format ?? ending ?? 'gif';
  const found = pictureFormats.find((one) => one === wanted);
  if (found === undefined) {
    throw new UserError({
      field: format === undefined ? '--out' : '--format',
      message:
        format === undefined ? 'this file name has no ending of a known format' : 'there is no such format',
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
    message: 'give best, worst, first or the number of an iteration',
    value: text,
  });
}

function chooseEpisode({ config }: OpenedRun, { episode = 1, seed, ...args }: Args): EpisodeChoice {
  if (seed !== undefined) {
    requireCount('--seed', seed, 0);
    return { kind: 'seed', seed };
  }
  const { episodes } = config.evaluation;
  if (requireCount('--episode', episode, 1) <= episodes) return { kind: 'evaluated', episode: episode - 1 };
  throw new UserError({
    field: '--episode',
    message: `${args.run} evaluates a policy on ${episodes} episodes`,
    value: episode,
    alternatives: [`1–${episodes}`],
    remedy: '--seed plays any other',
  });
}

function readOut(out: string, cwd: string): string {
  const file = resolve(cwd, out);
  const problem = (message: string, remedy: string) =>
    new UserError({ field: '--out', message, value: out, remedy });
  if (!existsSync(dirname(file))) throw problem('there is no such directory', 'make it first');
  if (existsSync(file) && !statSync(file).isFile()) throw problem('this is not a file', 'name another');
  return file;
}

/** In the run's own folder. */
function fileInRun(
  { path, config }: OpenedRun,
  entry: BufferEntry,
  { episode, seed }: DrawnEpisode,
  format: PictureFormat,
  wanted: NotablePolicy | number,
): string {
  const several = entry.iteration === 0 || config.candidates > 1;
  const policy =
    typeof wanted === 'number'
      ? `${iterationName(entry.iteration)}${several ? `-candidate-${entry.candidate + 1}` : ''}`
      : wanted;
  const which = episode === undefined ? `seed-${seed}` : `episode-${episode + 1}`;
  return join(makeAnimationsFolder(path), `${policy}-${which}.${format}`);
}
