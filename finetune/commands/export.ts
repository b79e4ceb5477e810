/** `policyloop finetune export trl <config>`: exports a folder for training on other machines. */
import { basename, resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../src/base/command.js';
import { type CommandContext, requireCount, shownPath } from '../../src/base/context.js';
import { plural } from '../../src/format/numbers.js';
import { plainName } from '../../src/storage/files.js';
import type { FolderFacts } from '../handoff/texts.js';
import type { TokenCheck } from '../handoff/trl-rows.js';
import type { TrlTrainer } from '../handoff/trl-settings.js';

export const options = (y: Argv) =>
  y
    .positional('trainer', {
      choices: ['trl'] as const,
      demandOption: true,
      describe: 'Trainer to export for',
    })
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'Config for finetune train (YAML)',
    })
    .positional('overrides', {
      type: 'string',
      array: true,
      describe: 'key=value, e.g. epochs=1 method.rank=16',
    })
    .option('out', { ...kinds.text, demandOption: true, describe: 'New directory to export to' })
    .option('base', {
      ...kinds.text,
      describe: "Base model on the other machine: a path or a Hub name (default: the config's model)",
    })
    .option('rows', {
      choices: ['messages', 'tokens'] as const,
      default: 'messages' as const,
      requiresArg: true,
      describe:
        'Content of the rows: messages, which TRL turns into tokens, or the token ids used in serving',
    })
    .option('gpus', { ...kinds.number, default: 1, describe: 'GPUs per node' })
    .option('nodes', { ...kinds.number, default: 1, describe: 'Number of nodes' })
    .option('accelerate', {
      choices: ['single_gpu', 'multi_gpu', 'zero2', 'fsdp2'] as const,
      requiresArg: true,
      describe: 'Parallelism (default: single_gpu for one GPU, else multi_gpu)',
    })
    .option('per-device', { ...kinds.number, default: 1, describe: 'Examples per GPU and forward pass' })
    .option('seeds', {
      ...kinds.number,
      default: 1,
      describe: 'Number of training runs, with consecutive seeds; several become a Slurm job array',
    })
    .option('time', { ...kinds.text, default: '4:00:00', describe: 'Time limit of each Slurm job' })
    .option('partition', { ...kinds.text, describe: 'Slurm partition' })
    .option('account', { ...kinds.text, describe: 'Slurm account' })
    .option('json', common.json)
    .example('$0 finetune export trl tune.yaml --out cluster --gpus 4 --accelerate fsdp2', 'for four GPUs');

type Args = Arguments<typeof options>;

/** The folder that was written. */
export interface Output {
  readonly out: string;
  readonly trainer: TrlTrainer;
  readonly examples: FolderFacts['examples'];
  /** Compares TRL's tokens with serving; null if the base model's files aren't available. */
  readonly tokens: TokenCheck | null;
  readonly warnings: readonly string[];
  readonly files: readonly string[];
}

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const gpusPerNode = requireCount('--gpus', args.gpus, 1);
  const nodes = requireCount('--nodes', args.nodes, 1);
  const perDevice = requireCount('--per-device', args.perDevice, 1);
  const seeds = requireCount('--seeds', args.seeds, 1);
  const { exportFolder } = await import('../handoff/export-folder.js');
  const { loadTrainConfig } = await import('../train/train-config.js');
  const config = loadTrainConfig(args.config, args.overrides, context.cwd);
  const out = resolve(context.cwd, args.out);
  const strategy = args.accelerate ?? (gpusPerNode * nodes === 1 ? 'single_gpu' : 'multi_gpu');
  const { time, partition, account } = args;
  const { trainer, files, examples, tokens, warnings } = exportFolder(
    {
      config,
      base: args.base,
      rows: args.rows,
      machines: { strategy, nodes, gpusPerNode, perDevice },
      queue: { name: plainName(basename(args.config, '.yaml'), 'training'), time, partition, account, seeds },
    },
    out,
  );
  const folder = shownPath(out, context.cwd);
  if (args.json) {
    const output: Output = { out: folder, trainer, examples, tokens: tokens ?? null, warnings, files };
    context.print(JSON.stringify(output));
    return 0;
  }
  const compared =
    tokens === undefined
      ? "not compared with serving, because the base model's files aren't available"
      : `same as in serving for ${plural(tokens.same, 'answer')}, extra tokens at the end for ${tokens.longer}, different for ${tokens.different}`;
  context.print(
    [
      styleText(
        'bold',
        `${trainer}: ${plural(examples.train, 'training example')}, ${plural(examples.validation, 'validation example')}`,
      ),
      `tokens      ${compared}`,
      `folder      ${folder}`,
      `run         ${nodes === 1 ? 'bash run.sh, or ' : ''}sbatch slurm.sh in that folder; see its README.md`,
      `import      policyloop finetune import ${folder}`,
    ].join('\n'),
  );
  for (const warning of warnings) context.note(`${styleText('yellow', 'note')} ${warning}`);
  return 0;
}
