import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { distinctFormat, formatInterval, formatReturn, plural } from '../base/text/numbers.js';

export const options = (y: Argv) =>
  y
    .positional('run', commonOptions.playedRun)
    .option('runs-dir', commonOptions.runsDir)
    .option('environment', commonOptions.programEnvironment)
    .option('episodes', { ...kinds.number, default: 100, describe: 'Number of episodes' })
    .option('seed', {
      ...kinds.number,
      describe:
        "Root seed of the episodes, which always differ from those of the run's evaluations (default: the run's seed)",
    })
    .option('iteration', {
      ...kinds.number,
      describe: "Evaluate this iteration's best candidate (default: the best of the run)",
    })
    .option('workers', commonOptions.workers)
    .option('picture', { ...kinds.text, describe: 'SVG file for an animation of the first episode' })
    .option('json', commonOptions.json)
    .example('$0 evaluate cartpole', 'mean return of the best policy, with its interval')
    .example(
      '$0 evaluate cartpole --iteration 7 --episodes 1000',
      'the best candidate of iteration 7, on more episodes',
    )
    .example('$0 evaluate cartpole --episodes 1 --picture cartpole.svg', 'one episode as an animation')
    .example('$0 evaluate policy.js --environment CartPole-v1', 'a program in a file');

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  requireCount('--episodes', args.episodes, 1);
  requireCount('--workers', args.workers, 1);
  requireCount('--seed', args.seed, 0);

  const picture = args.picture === undefined ? undefined : picturePath(args.picture, context.cwd);

  const { evaluateRun } = await import('../experiment/afterwards/evaluate-run.js');
  const { environment, figures } = await evaluateRun({ ...args, picture }, context);
  if (args.json) {
    context.print(JSON.stringify(figures));
    return 0;
  }
  const { ci95, episodes, iqm, iteration, max, mean, meanLength, min, standardDeviation } = figures;
  const asText = distinctFormat([mean, min, max, iqm]);
  context.print(
    [
      `${environment}, ${iteration === null ? args.run : `policy of ${iteration === 0 ? 'the warm-up' : `iteration ${iteration}`}`}, ${plural(episodes, 'episode')}`,
      `mean return  ${asText(mean)}  95 % interval ${formatInterval(ci95)}`,
      `spread       ${asText(min)} … ${asText(max)}, standard deviation ${formatReturn(standardDeviation)}, interquartile mean ${asText(iqm)}`,
      `mean length  ${formatReturn(meanLength)} steps`,
      ...(picture === undefined ? [] : [`picture      ${args.picture}`]),
    ].join('\n'),
  );
  return 0;
}

function picturePath(picture: string, cwd: string): string {
  const file = resolve(cwd, picture);
  const pictureError = (message: string, hint?: string) =>
    new UserError({ field: '--picture', message, value: picture, ...(hint && { hint }) });
  if (!/\.svg$/i.test(file)) throw pictureError('must end in .svg');
  if (!existsSync(dirname(file))) throw pictureError('the directory does not exist', 'create it first');
  if (existsSync(file) && !statSync(file).isFile())
    throw pictureError("exists and isn't a file", 'choose another path');
  return file;
}
