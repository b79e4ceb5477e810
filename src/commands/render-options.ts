/** What the command line of `render` takes. */
import type { Argv } from 'yargs';

const number = { type: 'number', requiresArg: true } as const;
const text = { type: 'string', requiresArg: true } as const;

export const renderOptions = (y: Argv) =>
  y
    .positional('run', { type: 'string', demandOption: true, describe: 'Run directory, or its name' })
    .option('runs-dir', { ...text, default: 'buffers', describe: 'Directory that holds the runs' })
    .option('iteration', {
      ...text,
      default: 'best',
      describe: 'best, worst or first policy, or the number of an iteration (0: the warm-up)',
    })
    .option('candidate', {
      ...number,
      describe: 'Which candidate of that iteration, from 1 (default: its best)',
    })
    .option('episode', { ...number, describe: "Which of the evaluation's episodes, from 1 (default: 1)" })
    .option('seed', { ...number, describe: 'Any other episode, by its seed' })
    .conflicts('episode', 'seed')
    .option('format', { ...text, describe: 'gif or svg (default: as --out ends, else gif)' })
    .option('out', { ...text, describe: 'File to write (default: one in animations/ of the run)' })
    .option('fps', {
      ...number,
      describe: "Frames a second (default: the task's own speed, faster where that takes over 20 s)",
    })
    .option('size', { ...number, default: 480, describe: 'Width in pixels' })
    .option('max-frames', {
      ...number,
      default: 300,
      describe: 'Longer episodes are shown with every second, third, … step only',
    })
    .option('json', { type: 'boolean', default: false, describe: 'Print JSON for machines' })
    .example('$0 render cartpole', 'the best policy, as a GIF')
    .example('$0 render cartpole --iteration 7 --format svg', 'the best candidate of iteration 7');
