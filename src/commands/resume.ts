import { join } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';

export const options = (y: Argv) =>
  y
    .positional('run', commonOptions.run)
    .positional('overrides', commonOptions.overrides)
    .option('runs-dir', commonOptions.runsDir)
    .option('workers', commonOptions.workers)
    .option('quiet', commonOptions.quiet)
    .option('json', commonOptions.jsonLines)
    .example('$0 resume buffers/cartpole iterations=200', 'extend it to 200 iterations in total')
    .example('$0 resume buffers/cooking episodes=100', 'the same for an agent run');

export const finishingText =
  'finishing pending work (press Ctrl-C again to stop immediately; nothing recorded is lost)';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { findItem, findRun } = await import('../runs/listing/names.js');
  const { planFile } = await import('../runs/reader.js');
  const { readOwnJson } = await import('../base/files/files.js');
  const folders = { cwd: context.cwd, runsDir: args.runsDir };
  const { kind, path } = findItem(args.run, folders, ['run', 'training', 'folder']);
  const plan = readOwnJson(join(path, planFile)) as { readonly command?: string } | undefined;
  // For an ordinary folder, which isn't a run, `findRun` throws an error.
  if (kind === 'folder' && plan === undefined) findRun(args.run, folders);
  if (kind !== 'run') {
    const { readTraining } = await import('../runs/training/trainings.js');
    const { command } = kind === 'folder' ? plan! : readTraining(path);
    throw new UserError({
      field: 'run',
      value: args.run,
      message: `this is a ${kind === 'folder' ? 'sweep or an evaluation' : 'training run'}`,
      hint: `resume it with ${command ?? 'the command that started it'}`,
    });
  }
  const { isPlay } = await import('../agents/played.js');
  if (isPlay(path)) {
    const { resumePlay } = await import('../agents/run-play.js');
    return resumePlay(args, context);
  }
  const { resumeRun } = await import('../studies/resume.js');
  return resumeRun(args, context);
}
