/** `policyloop finetune …`: the only place where the command line and the fine-tuner meet. */
import { join, resolve } from 'node:path';
import { styleText } from 'node:util';
import { type CommandContext, exitCodes, requireCount } from '../../src/context.js';
import { formatCompact } from '../../src/format/numbers.js';
import { formatTable } from '../../src/format/table.js';
import { shownPath } from '../../src/runs/facts.js';
import { buildDataset } from '../dataset/dataset.js';
import type { Recipe } from '../dataset/example.js';
import { requireExportable } from '../dataset/export-rows.js';
import { findRuns } from '../dataset/find-runs.js';
import type { DatasetManifest } from '../dataset/manifest.js';
import type { RowFormat } from '../dataset/row-formats.js';
import { parseValidation } from '../dataset/split.js';
import type { Distribution } from '../dataset/token-statistics.js';
import { datasetFiles, requireNewDirectory, writeDataset } from '../dataset/write-dataset.js';

export interface DatasetArguments {
  readonly runs: readonly string[];
  readonly runsDir: string;
  readonly recipe: Recipe;
  readonly out: string;
  readonly validation: string;
  readonly format: RowFormat;
  readonly seed: number;
  readonly samples?: number | undefined;
  readonly winners?: number | undefined;
  /** Numbers, separated by commas. */
  readonly lookAhead?: string | undefined;
  readonly augment?: number | undefined;
  readonly context?: number | undefined;
  readonly json: boolean;
}

/** `policyloop finetune dataset <runs..>`. Fails when there is nothing to train on. */
export async function datasetCommand(args: DatasetArguments, context: CommandContext): Promise<number> {
  const { recipe, format, samples, winners, augment, context: window } = args;
  requireCount('--seed', args.seed, 0);
  if (samples !== undefined) requireCount('--samples', samples, 1);
  if (winners !== undefined) requireCount('--winners', winners, 1);
  if (augment !== undefined) requireCount('--augment', augment, 0);
  if (window !== undefined) requireCount('--context', window, 1);
  requireExportable(recipe, format);
  const out = resolve(context.cwd, args.out);
  requireNewDirectory(out);
  const paths = findRuns(args.runs, { cwd: context.cwd, runsDir: args.runsDir });
  const dataset = await buildDataset(
    paths.map((path) => ({ path, name: shownPath(path, context.cwd) })),
    {
      recipe,
      validation: parseValidation(args.validation),
      seed: args.seed,
      samples,
      winners,
      lookAhead: args.lookAhead === undefined ? undefined : counts('--look-ahead', args.lookAhead),
      augment,
      context: window,
    },
  );
  const manifest = writeDataset(dataset, format, out);
  context.print(
    args.json
      ? JSON.stringify({ out: shownPath(out, context.cwd), ...manifest })
      : described(manifest, shownPath(out, context.cwd)),
  );
  for (const { message, remedy } of manifest.alarms) {
    context.note(`${styleText('yellow', 'alarm')} ${message}\n  remedy: ${remedy}`);
  }
  return dataset.train.length === 0 ? exitCodes.failure : 0;
}

/** `0,4,16` */
function counts(option: string, text: string): readonly number[] {
  return text
    .split(',')
    .map((part) => requireCount(option, part.trim() === '' ? Number.NaN : Number(part), 0));
}

function described({ recipe, sources, statistics, duplicates }: DatasetManifest, out: string): string {
  const { train, validation } = statistics;
  const row = (title: string, split: 'train' | 'validation') => {
    const { examples, prompts, promptTokens, completionTokens, history } = statistics[split];
    const runs = sources.filter((source) => source.split === split).length;
    return [
      title,
      String(runs),
      String(examples),
      String(prompts),
      ...[promptTokens, completionTokens, history].map(spread),
    ];
  };
  return [
    styleText(
      'bold',
      `${recipe}: ${train.examples + validation.examples} examples, ${duplicates} duplicates left out`,
    ),
    '',
    formatTable(
      ['split', 'runs', 'examples', 'prompts', 'prompt tokens', 'completion tokens', 'history'],
      [row('train', 'train'), row('validation', 'validation')],
    ),
    '',
    `look at it  ${join(out, datasetFiles.page)}`,
  ].join('\n');
}

/** `1.2k (0.9k–2.1k)`: the median and the ends. */
function spread(values: Distribution | undefined): string {
  if (values === undefined) return '–';
  const { median, least, most } = values;
  return `${formatCompact(median)} (${formatCompact(least)}–${formatCompact(most)})`;
}
