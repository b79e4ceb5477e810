/** Options of `finetune export`, `import` and `hosted`, apart from the commands so that `--help` loads none of them. */
import type { Argv } from 'yargs';

const json = { type: 'boolean', default: false, describe: 'Print JSON for machines' } as const;

export const exportOptions = (y: Argv) =>
  y
    .positional('trainer', {
      choices: ['trl'] as const,
      demandOption: true,
      describe: 'Who will train',
    })
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'YAML file of the training, as finetune train reads it',
    })
    .option('out', {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Directory of the folder, a new one',
    })
    .option('base', {
      type: 'string',
      requiresArg: true,
      describe:
        'The base model where it is trained: a path there, or a hub name (default: the config’s path)',
    })
    .option('rows', {
      choices: ['messages', 'tokens'] as const,
      default: 'messages' as const,
      requiresArg: true,
      describe: 'Messages, which TRL renders itself, or the token ids of serving',
    })
    .option('gpus', { type: 'number', default: 1, requiresArg: true, describe: 'Devices a node' })
    .option('nodes', { type: 'number', default: 1, requiresArg: true, describe: 'Machines' })
    .option('accelerate', {
      choices: ['single_gpu', 'multi_gpu', 'zero2', 'fsdp2'] as const,
      requiresArg: true,
      describe: 'How it is spread (default: single_gpu for one device, else multi_gpu)',
    })
    .option('per-device', {
      type: 'number',
      default: 1,
      requiresArg: true,
      describe: 'Examples that a device reads at once',
    })
    .option('seeds', {
      type: 'number',
      default: 1,
      requiresArg: true,
      describe: 'Trainings with seeds from the config’s on: a job array',
    })
    .option('time', {
      type: 'string',
      default: '4:00:00',
      requiresArg: true,
      describe: 'Time limit of a stretch in the queue',
    })
    .option('partition', { type: 'string', requiresArg: true, describe: 'Partition of the cluster' })
    .option('account', { type: 'string', requiresArg: true, describe: 'Account that the job is charged to' })
    .option('json', json)
    .example('$0 finetune export trl tune.yaml --out cluster --gpus 4 --accelerate fsdp2', '');

export const importOptions = (y: Argv) =>
  y
    .positional('directory', {
      type: 'string',
      demandOption: true,
      describe: 'An adapter, a model, or an exported folder after its training',
    })
    .option('model', {
      type: 'string',
      requiresArg: true,
      describe: 'Base model of an adapter (default: the one it was exported for)',
    })
    .option('out', {
      type: 'string',
      requiresArg: true,
      describe: 'New directory (default: adapter or model below the output of the exported config)',
    })
    .option('json', json)
    .example('$0 finetune import cluster', 'what the exported folder came to');

const server = (y: Argv) =>
  y
    .option('base-url', {
      type: 'string',
      requiresArg: true,
      describe: 'OpenAI-compatible server (default: the job’s, OPENAI_BASE_URL, then api.openai.com)',
    })
    .option('api-key-env', {
      type: 'string',
      requiresArg: true,
      describe: 'Environment variable that holds the key (default: OPENAI_API_KEY)',
    })
    .option('json', json);

const job = (y: Argv) =>
  server(y).positional('job', {
    type: 'string',
    demandOption: true,
    describe: 'Id of a job, or the file that start wrote beside the dataset',
  });

export const hostedStartOptions = (y: Argv) =>
  server(y)
    .positional('dataset', {
      type: 'string',
      demandOption: true,
      describe: 'Directory that finetune dataset wrote, in the format jsonl',
    })
    .option('model', {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Model to train, as the server calls it',
    })
    .option('method', {
      choices: ['sft', 'dpo'] as const,
      requiresArg: true,
      describe: 'Default: dpo for a dataset of pairs, else sft',
    })
    .option('epochs', { type: 'number', requiresArg: true, describe: 'Default: the server’s choice' })
    .option('seed', { type: 'number', requiresArg: true, describe: 'Default: the server’s choice' })
    .option('suffix', {
      type: 'string',
      requiresArg: true,
      describe: 'Becomes part of the new model’s name',
    })
    .example('$0 finetune hosted start datasets/a --model gpt-4.1-mini', '');

export const hostedFollowOptions = (y: Argv) =>
  job(y).option('interval', {
    type: 'number',
    default: 15,
    requiresArg: true,
    describe: 'Seconds between questions',
  });

export const hostedCancelOptions = job;

export const hostedListOptions = (y: Argv) =>
  server(y).option('limit', { type: 'number', default: 20, requiresArg: true, describe: 'Latest jobs' });
