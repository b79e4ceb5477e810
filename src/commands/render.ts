import { existsSync, statSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../command.js';
import { type CommandContext, requireCount } from '../context.js';
import { UserError } from '../errors.js';
import {
  type DrawnEpisode,
  drawEpisode,
  type EpisodeChoice,
  iterationName,
  makeAnimationsFolder,
  notablePolicies,
  openDrawable,
} from '../experiment/animations.js';
import { bestEntries } from '../experiment/stages.js';
import { formatBytes, formatReturn } from '../format/numbers.js';
import { type Animation, durationOf } from '../render/animation.js';
import { gifAnimation } from '../render/gif-animation.js';
import { svgAnimation } from '../render/svg-animation.js';
import type { BufferEntry } from '../rollout/replay-buffer.js';
import { placeName, shownPath } from '../runs/facts.js';
import { type OpenedRun, openRun } from '../runs/open-run.js';
import { replaceFile } from '../runs/writer.js';

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
    .option('json', common.json)
    .example('$0 render cartpole', 'the best policy, as a GIF')
    .example('$0 render cartpole --iteration 7 --format svg', 'the best candidate of iteration 7');

type Args = Arguments<typeof options>;

const formats = ['gif', 'svg'] as const;
type Format = (typeof formats)[number];

/** `policyloop render <run>`: an episode of one of its policies as an animation. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireRange('--size', args.size, 64, 2048);
  requireRange('--max-frames', args.maxFrames, 2, 5000);
  if (args.fps !== undefined) requireRange('--fps', args.fps, 1, 50);
  const format = formatOf(args);
  const run = await openRun(args, context);
  const entry = choosePolicy(run, args);
  const choice = chooseEpisode(run, args);
  const environment = await openDrawable(run.config);
  let drawn: DrawnEpisode;
  try {
    const { config, family, manifest } = run;
    drawn = drawEpisode({ config, family, environment, seed: manifest.seed }, entry, choice, args);
  } finally {
    environment.close?.();
  }
  const file = outputFile(run, entry, drawn, format, args, context);
  const { animation, replay, recorded } = drawn;
  const picture = format === 'svg' ? svgAnimation(animation, args.size) : gif(animation, args, context);
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

function formatOf({ format, out }: Args): Format {
  const ending = out === undefined ? undefined : extname(out).slice(1).toLowerCase();
  const wanted = format ?? ending ?? 'gif';
  const found = formats.find((one) => one === wanted);
  if (found === undefined) {
    throw new UserError({
      field: format === undefined ? '--out' : '--format',
      message:
        format === undefined ? 'this file name has no ending of a known format' : 'there is no such format',
      value: format ?? out,
      alternatives: format === undefined ? formats.map((one) => `*.${one}`) : formats,
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

function choosePolicy({ recorded, manifest, path }: OpenedRun, args: Args): BufferEntry {
  const notable = notablePolicies(recorded.entries, manifest);
  if (notable === undefined) {
    throw new UserError({
      message: 'this run has no evaluated policy yet',
      value: path,
      remedy: `policyloop resume ${path}`,
    });
  }
  const { iteration: wanted, candidate } = args;
  if (wanted === 'best' || wanted === 'worst' || wanted === 'first') {
    if (candidate === undefined) return notable[wanted];
    throw new UserError({
      field: '--candidate',
      message: `--iteration ${wanted} names one policy already`,
      value: candidate,
      remedy: 'give the number of an iteration beside it',
    });
  }
  const iteration = /^\d+$/.test(wanted) ? Number(wanted) : Number.NaN;
  const entries = recorded.entries.filter((entry) => entry.iteration === iteration);
  if (entries.length === 0) {
    throw new UserError({
      field: '--iteration',
      message: Number.isNaN(iteration)
        ? 'give best, worst, first or the number of an iteration'
        : 'this iteration has no evaluated policy',
      value: wanted,
      remedy: `the run has iterations 0 (warm-up) to ${recorded.iteration}`,
    });
  }
  if (candidate === undefined) return bestEntries(entries, 1)[0]!;
  const found = entries.find((entry) => entry.candidate === candidate - 1);
  if (found !== undefined) return found;
  throw new UserError({
    field: '--candidate',
    message: `iteration ${iteration} has no evaluated candidate of this number`,
    value: candidate,
    alternatives: entries.map((entry) => String(entry.candidate + 1)),
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

/** In the run's own folder, unless a file is named. */
function outputFile(
  { path, config }: OpenedRun,
  entry: BufferEntry,
  { episode, seed }: DrawnEpisode,
  format: Format,
  { iteration, out }: Args,
  { cwd }: Pick<CommandContext, 'cwd'>,
): string {
  if (out === undefined) {
    const several = entry.iteration === 0 || config.candidates > 1;
    const policy = /^\d+$/.test(iteration)
      ? `${iterationName(entry.iteration)}${several ? `-candidate-${entry.candidate + 1}` : ''}`
      : iteration;
    const which = episode === undefined ? `seed-${seed}` : `episode-${episode + 1}`;
    return join(makeAnimationsFolder(path), `${policy}-${which}.${format}`);
  }
  const file = resolve(cwd, out);
  const problem = (message: string, remedy: string) =>
    new UserError({ field: '--out', message, value: out, remedy });
  if (!existsSync(dirname(file))) throw problem('there is no such directory', 'make it first');
  if (existsSync(file) && !statSync(file).isFile()) throw problem('this is not a file', 'name another');
  return file;
}

function gif(animation: Animation, { size, json }: Args, context: CommandContext): Uint8Array {
  const frames = animation.moments.length;
  if (context.terminal === undefined || json) {
    if (!json) context.note(`drawing ${frames} frames`);
    return gifAnimation(animation, size).bytes;
  }
  const bar = new SingleBar({
    format: '{bar} frame {value}/{total}  {eta_formatted} left',
    stream: context.terminal,
    barsize: 24,
    clearOnComplete: true,
    barCompleteChar: '━',
    barIncompleteChar: '·',
  });
  bar.start(frames, 0);
  try {
    return gifAnimation(animation, size, (drawn) => {
      bar.update(drawn);
      // Frames are drawn without a pause in which the bar's own timer could run.
      if (drawn % 10 === 0) bar.render();
    }).bytes;
  } finally {
    bar.stop();
  }
}
