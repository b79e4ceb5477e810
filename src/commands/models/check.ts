import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds, splitList } from '../../base/command.js';
import { type CommandContext, exitCodes } from '../../base/context.js';
import { formatProblem, type Problem, UserError } from '../../base/errors.js';
import { largest } from '../../statistics/descriptive.js';

export const options = (y: Argv) =>
  y
    .positional('directory', {
      type: 'string',
      describe:
        'Directory of a Hugging Face model or LoRA adapter, a GGUF file, or `hf:…` (default: the embedded model)',
    })
    .option('base', {
      ...kinds.text,
      describe: 'Base model for an adapter (default: the model named in the adapter)',
    })
    .option('ignore-keys', commonOptions.ignoreKeys)
    .option('json', commonOptions.json)
    .example('$0 models check models/Qwen2.5-0.5B-Instruct', 'check that the model can run')
    .example('$0 models check tuned/adapter', 'check that the adapter fits its base');

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { embeddedModelPath: embeddedModel, modelDirectory } = await import('../../models/local/settings.js');
  const { adapterSummary, adapterRows, isAdapter } = await import(
    '../../models/local/summary/adapter-summary.js'
  );
  const ignored = splitList(args.ignoreKeys);
  const directory = modelDirectory(args.directory ?? embeddedModel, context.cwd);
  if (isAdapter(directory)) {
    const base = args.base === undefined ? undefined : modelDirectory(args.base, context.cwd, '--base');
    return printFacts(adapterSummary(directory, base, context.cwd, ignored), adapterRows, args.json, context);
  }
  if (args.base !== undefined)
    throw new UserError({
      field: '--base',
      value: args.base,
      message: 'only applies to adapters, but no adapter was given',
      hint: 'use the directory that contains adapter_config.json and adapter_model.safetensors',
    });
  const { modelRows, modelSummary } = await import('../../models/local/summary/model-summary.js');
  const summary = modelSummary(directory, ignored, args.directory);
  return printFacts(summary, modelRows, args.json, context);
}

/** Prints the summary. @returns 0, or the exit code for failure if there are problems */
function printFacts<Facts extends { readonly directory: string; readonly problems: readonly Problem[] }>(
  facts: Facts,
  rowsOf: (facts: Facts) => readonly (readonly [string, string])[],
  json: boolean,
  context: CommandContext,
): number {
  context.print(json ? JSON.stringify(facts) : summaryText(facts, rowsOf(facts)));
  return facts.problems.length === 0 ? 0 : exitCodes.failure;
}

function summaryText(
  { directory, problems }: { readonly directory: string; readonly problems: readonly Problem[] },
  rows: readonly (readonly [string, string])[],
): string {
  const width = largest(rows.map(([name]) => name.length));
  return [
    directory,
    ...rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`),
    ...(problems.length === 0 ? [] : ['', ...problems.map(formatProblem)]),
  ].join('\n');
}
