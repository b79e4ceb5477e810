import { join, resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../../src/base/command.js';
import { type CommandContext, exitCodes, requireCount, shownPath } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { readOwnJson } from '../../src/base/files/files.js';
import { formatCompact, plural } from '../../src/base/text/numbers.js';
import { number, terminalTable, text } from '../../src/base/text/table.js';
import { fitText } from '../../src/base/text/width.js';
import type { SweepResult } from '../../src/studies/sweep/sweep-result.js';
import type { DatasetManifest } from '../dataset/dataset.js';
import { recipes, rowFormats, tutorialSizes } from '../dataset/example.js';
import type { Distribution } from '../dataset/token-statistics.js';

export const options = (y: Argv) =>
  y
    .positional('runs', {
      type: 'string',
      array: true,
      demandOption: true,
      describe: 'Runs: directories, names, or patterns such as buffers/cartpole-*',
    })
    .option('recipe', {
      choices: recipes,
      demandOption: true,
      requiresArg: true,
      describe: 'Kind of examples made from a run',
    })
    .option('out', { ...kinds.text, demandOption: true, describe: 'New directory for the dataset' })
    .option('validation', {
      ...kinds.text,
      default: '0.1',
      describe:
        'Validation data: about this share of the examples (whole runs or games), environments or runs by name (such as *seed-3), or none',
    })
    .option('format', {
      choices: rowFormats,
      default: 'jsonl' as const,
      requiresArg: true,
      describe: 'Row format; finetune train reads jsonl',
    })
    .option('seed', { ...kinds.number, default: 0, describe: 'Seed for choosing the validation data' })
    .option('min-return', {
      ...kinds.number,
      describe: 'Minimum return of the games to imitate (demonstrations)',
    })
    .option('best-share', {
      ...kinds.number,
      describe: "Share of each agent run's games to imitate, best first (demonstrations; default: 1)",
    })
    .option('history', {
      ...kinds.number,
      describe: 'Maximum number of previous turns in a prompt (demonstrations; default: as in the agent run)',
    })
    .option('winners', {
      ...kinds.number,
      describe:
        'Maximum number of improvements to imitate per iteration, best first (recipe improvement; default: all)',
    })
    .option('context', {
      ...kinds.number,
      describe:
        'Maximum tokens per example; if a prompt is too long, all prompts of its run are shortened, as with a smaller memory.tokens (demonstrations and repairs only raise an alarm)',
    })
    .option('runs-dir', commonOptions.runsDir)
    .option('json', commonOptions.json)
    .example(
      '$0 finetune dataset buffers/cooking --recipe demonstrations --min-return 1 --out datasets/cooking',
      'from games that were won',
    )
    .example(
      '$0 finetune dataset "buffers/cartpole-*" --recipe improvement --out datasets/a',
      'from all matching runs',
    );

/** Output of `--json`: the new directory and the dataset's manifest. */
type Output = { readonly out: string } & DatasetManifest;

/** Makes a training dataset from runs. @returns exit code 1 if there is nothing to train on */
export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { bestShare, recipe, format, context: contextTokens } = args;
  requireCount('--seed', args.seed, 0);
  requireCount('--winners', args.winners, 1);
  requireCount('--context', contextTokens, 1);
  requireCount('--history', args.history, 0);
  const message = 'must be above 0 and at most 1';
  if (bestShare !== undefined && !(bestShare > 0 && bestShare <= 1))
    throw new UserError({ field: '--best-share', value: bestShare, message });
  const { findRuns } = await import('../../src/runs/listing/names.js');
  const { buildDataset } = await import('../dataset/dataset.js');
  const { parseValidation } = await import('../dataset/split.js');
  const datasetWriter = await import('../dataset/write-dataset.js');
  datasetWriter.requireExportable(recipe, format);
  const out = resolve(context.cwd, args.out);
  datasetWriter.requireNewDirectory(out);
  const paths = findRuns(args.runs, { cwd: context.cwd, runsDir: args.runsDir }).toSorted();
  const runs = paths.map((path) => ({ path, name: shownPath(path, context.cwd) }));
  const validation = parseValidation(args.validation);
  const dataset = await buildDataset(runs, { ...args, validation, context: contextTokens });
  const manifest = datasetWriter.writeDataset(dataset, format, out);
  context.print(
    args.json
      ? JSON.stringify({ out: shownPath(out, context.cwd), ...manifest } satisfies Output)
      : fitText(describe(manifest, shownPath(out, context.cwd), context.columns), context.columns),
  );
  const { enclosingPlan } = await import('../../src/runs/finder.js');
  const { resultFiles } = await import('../../src/studies/plan.js');
  const plans = [...new Set(paths.flatMap((path) => enclosingPlan(path)?.directory ?? []))];
  const unfinished = plans.flatMap((directory) => {
    const sweep = readOwnJson(join(directory, resultFiles.sweep)) as SweepResult | undefined;
    const sweptSettings = sweep?.tasks.flatMap(({ settings }) => settings) ?? [];
    const missingRuns = sweptSettings.reduce((sum, { runs }) => sum + sweep!.seeds.length - runs, 0);
    const lacks = `${shownPath(directory, context.cwd)} lacks ${plural(missingRuns, 'run')}`;
    return missingRuns > 0 ? [`${lacks}: repeat its command to add them`] : [];
  });
  for (const line of unfinished) context.note(line);
  for (const { kind, message, hint } of manifest.alarms) {
    const advice = kind === 'few' && unfinished.length > 0 ? 'add the missing runs first' : hint;
    context.note(`${styleText('yellow', 'alarm')} ${message}\n  hint: ${advice}`);
  }
  return dataset.train.length === 0 ? exitCodes.failure : 0;
}

function describe(
  { recipe, sources, statistics, duplicates }: DatasetManifest,
  out: string,
  width: number | undefined,
): string {
  const { train, validation } = statistics;
  const splits = [
    { title: 'train', ...train },
    { title: 'validation', ...validation },
  ];
  const runCount = (split: string) => sources.filter((source) => source.split === split).length;
  const tokenLimits = sources.flatMap(({ historyTokens }) => historyTokens ?? []).toSorted((a, b) => a - b);
  const { least, most } = tutorialSizes;
  return [
    styleText(
      'bold',
      `${recipe}: ${plural(train.examples + validation.examples, 'example')}, ${plural(duplicates, 'duplicate')} removed`,
    ),
    '',
    terminalTable(
      splits,
      [
        text('split', ({ title }) => title),
        number('runs', ({ title }) => runCount(title)),
        number('examples', ({ examples }) => examples),
        number('prompts', ({ prompts }) => prompts),
        number('prompt tokens', ({ promptTokens }) => rangeText(promptTokens)),
        number('completion tokens', ({ completionTokens }) => rangeText(completionTokens)),
        number('history', ({ history }) => rangeText(history)),
      ],
      width,
    ),
    '',
    ...emptyRunLines(sources),
    ...tokenLimits.slice(0, 1).map((tokens) => {
      return `shortened   prompts of ${plural(tokenLimits.length, 'run')}, as with memory.tokens=${tokens}${tokenLimits.at(-1)! > tokens ? ' or more' : ''}`;
    }),
    ...(recipe === 'demonstrations' ? [] : [`usual       ${least} to ${most} examples to train on`]),
    `written     ${out}`,
  ].join('\n');
}

/** Lists the runs that gave no examples, with the reasons. */
function emptyRunLines(sources: DatasetManifest['sources']): readonly string[] {
  const reasonLines = sources.flatMap(({ none, run }) => (none === undefined ? [] : [`  ${run}: ${none}`]));
  const title = `no examples from ${reasonLines.length} of ${plural(sources.length, 'run')}:`;
  return reasonLines.length === 0 ? [] : [title, ...reasonLines, ''];
}

/** Median and range, e.g. `1.2k (900–2.1k)`. */
function rangeText(values: Distribution | undefined): string | undefined {
  if (values === undefined) return undefined;
  const { median, least, most } = values;
  return `${formatCompact(median)} (${formatCompact(least)}–${formatCompact(most)})`;
}
