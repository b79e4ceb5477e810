import { existsSync, statSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { formatBytes, formatReturn, plural } from '../format/numbers.js';
import { type PictureFormat, pictureFormats } from '../render/animation.js';
import type { NotablePolicy } from '../runs/open-run.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.playedRun)
    .option('runs-dir', common.runsDir)
    .option('environment', common.programEnvironment)
    .option('iteration', {
      ...kinds.text,
      default: 'best',
      describe: 'Policy to draw: best, worst, first, or an iteration number (0: the warm-up)',
    })
    .option('candidate', {
      ...kinds.number,
      describe: 'Candidate of that iteration, numbered from 1 (default: the best)',
    })
    .option('episode', {
      ...kinds.number,
      describe: 'Episode of the evaluation, numbered from 1 (default: 1)',
    })
    .option('seed', {
      ...kinds.number,
      describe: 'Seed of a new episode, to draw it instead of a recorded one',
    })
    .conflicts('episode', 'seed')
    .option('format', {
      ...kinds.text,
      describe: 'Format: gif or svg (default: from the name in --out, otherwise gif)',
    })
    .option('out', {
      ...kinds.text,
      describe:
        "File to write (default: in the run's animations/ directory; for a program, in its directory)",
    })
    .option('fps', {
      ...kinds.number,
      describe: "Frames per second (default: the task's speed, or faster for long episodes)",
    })
    .option('size', { ...kinds.number, default: 480, describe: 'Width in pixels' })
    .option('max-frames', {
      ...kinds.number,
      default: 300,
      describe: 'Maximum number of frames; in longer episodes, steps are skipped evenly',
    })
    .option('quiet', common.quiet)
    .option('json', common.json)
    .example('$0 render cartpole', 'the best policy, as a GIF')
    .example('$0 render cartpole --iteration 7 --format svg', 'the best candidate of iteration 7');

type Args = Arguments<typeof options>;

export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireRange('--size', args.size, 64, 2048);
  requireRange('--max-frames', args.maxFrames, 2, 5000);
  if (args.fps !== undefined) requireRange('--fps', args.fps, 1, 50);
  const format = formatOf(args);
  const iteration = readIteration(args.iteration);
  const file = args.out === undefined ? undefined : readOut(args.out, context.cwd);

  const { drawPicture } = await import('../experiment/afterwards/picture.js');
  const { policy, figures } = await drawPicture({ ...args, format, iteration, file }, context);
  if (args.json) {
    context.print(JSON.stringify(figures));
    return 0;
  }
  const which = figures.episode === null ? '' : `episode ${figures.episode + 1}, `;
  context.print(
    [
      `${figures.environment}, ${policy}, ${which}seed ${figures.seed}: return ${formatReturn(figures.return)} in ${plural(figures.length, 'step')}${figures.asRecorded === true ? ', as recorded' : ''}`,
      `${figures.out}  ${formatBytes(figures.bytes)}, ${plural(figures.frames, 'frame')}, ${figures.seconds.toFixed(1)} s`,
    ].join('\n'),
  );
  if (figures.asRecorded === false) {
    context.note(
      `warning: the evaluation recorded a return of ${formatReturn(figures.recorded!)} for this episode; the environment or policyloop may have changed since`,
    );
  }
  return 0;
}

function requireRange(option: string, value: number, low: number, high: number): void {
  if (requireCount(option, value, low) <= high) return;
  throw new UserError({ field: option, message: `must be a whole number from ${low} to ${high}`, value });
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
      message: `must end in .${found}`,
      value: out,
      remedy: ending === '' ? `add .${found} to the name` : `use a .${found} file, or remove --format`,
    });
  }
  return found;
}

function readIteration(text: string): NotablePolicy | number {
  if (text === 'best' || text === 'worst' || text === 'first') return text;
  if (/^\d+$/.test(text)) return Number(text);
  throw new UserError({
    field: '--iteration',
    message: 'must be best, worst, first or an iteration number',
    value: text,
  });
}

function readOut(out: string, cwd: string): string {
  const file = resolve(cwd, out);
  const problem = (message: string, remedy: string) =>
    new UserError({ field: '--out', message, value: out, remedy });
  if (!existsSync(dirname(file))) throw problem('the directory does not exist', 'create it first');
  if (existsSync(file) && !statSync(file).isFile())
    throw problem("exists and isn't a file", 'choose another path');
  return file;
}
