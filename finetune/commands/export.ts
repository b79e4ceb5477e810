/** `policyloop finetune export trl <config>`: a folder for a training on other machines. */
import { basename, resolve } from 'node:path';
import { styleText } from 'node:util';
import { type CommandContext, requireCount } from '../../src/context.js';
import { shownPath } from '../../src/runs/facts.js';
import type { Strategy } from '../elsewhere/accelerate.js';
import { exportFolder } from '../elsewhere/export-folder.js';
import { plainName } from '../elsewhere/shell-text.js';
import type { RowKind } from '../elsewhere/trl-rows.js';
import { loadTrainConfig } from '../train/train-config.js';

export interface ExportArguments {
  readonly config: string;
  readonly out: string;
  readonly base?: string | undefined;
  readonly rows: RowKind;
  readonly gpus: number;
  readonly nodes: number;
  readonly accelerate?: Strategy | undefined;
  readonly perDevice: number;
  readonly seeds: number;
  readonly time: string;
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  readonly json: boolean;
}

export async function exportCommand(args: ExportArguments, context: CommandContext): Promise<number> {
  const gpusPerNode = requireCount('--gpus', args.gpus, 1);
  const nodes = requireCount('--nodes', args.nodes, 1);
  const perDevice = requireCount('--per-device', args.perDevice, 1);
  const seeds = requireCount('--seeds', args.seeds, 1);
  const config = loadTrainConfig(resolve(context.cwd, args.config));
  const out = resolve(context.cwd, args.out);
  const strategy = args.accelerate ?? (gpusPerNode * nodes === 1 ? 'single_gpu' : 'multi_gpu');
  const { time, partition, account } = args;
  const { trainer, files, examples, tokens, warnings } = exportFolder(
    {
      config,
      base: args.base,
      rows: args.rows,
      machines: { strategy, nodes, gpusPerNode, perDevice },
      queue: { name: plainName(basename(args.config, '.yaml')), time, partition, account, seeds },
    },
    out,
  );
  const folder = shownPath(out, context.cwd);
  if (args.json) {
    context.print(
      JSON.stringify({ out: folder, trainer, examples, tokens: tokens ?? null, warnings, files }),
    );
    return 0;
  }
  const compared =
    tokens === undefined
      ? 'not compared with those of serving'
      : `${tokens.same} answers as in serving, ${tokens.longer} with a line break or the like after their end, ${tokens.different} others`;
  context.print(
    [
      styleText('bold', `${trainer}: ${examples.train} examples, ${examples.validation} for validation`),
      `tokens      ${compared}`,
      `folder      ${folder}`,
      `run it      ${nodes === 1 ? 'bash run.sh, or ' : ''}sbatch slurm.sh, in that folder; its README.md says what it needs`,
      `bring back  policyloop finetune import ${folder}`,
    ].join('\n'),
  );
  for (const warning of warnings) context.note(`${styleText('yellow', 'note')} ${warning}`);
  return 0;
}
