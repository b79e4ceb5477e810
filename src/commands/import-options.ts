/** Options of `import`, apart from it so that `--help` loads none of it. */
import type { Argv } from 'yargs';

export const importOptions = (y: Argv) =>
  y
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'Config of ProPS or LLM-RL-finetune',
    })
    .positional('overrides', {
      type: 'string',
      array: true,
      default: [] as string[],
      describe: 'key=value, with a key of theirs or of ours',
    })
    .option('output', {
      alias: 'o',
      type: 'string',
      requiresArg: true,
      describe: 'File to write (default: print)',
    })
    .option('force', { type: 'boolean', default: false, describe: 'Overwrite the file' })
    .option('json', { type: 'boolean', default: false, describe: 'Print the config and the notes as JSON' })
    .example('$0 import theirs.yaml -o ours.yaml', 'write it as a config of policyloop');
