/** `policyloop finetune import <directory>`: imports an adapter or a model that was trained elsewhere. */
import { resolve } from 'node:path';
import { styleText } from 'node:util';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds, listed } from '../../src/base/command.js';
import { type CommandContext, exitCodes, shownPath } from '../../src/base/context.js';
import { plural } from '../../src/format/numbers.js';
import type { TrlOutcome } from '../handoff/trained-directory.js';

export const options = (y: Argv) =>
  y
    .positional('directory', {
      type: 'string',
      demandOption: true,
      describe: 'Directory of an adapter or a model, or an exported folder after training',
    })
    .option('model', {
      ...kinds.text,
      describe: 'Base model of an adapter (default: the one it was exported for, or else the one it names)',
    })
    .option('ignore-keys', common.ignoreKeys)
    .option('out', {
      ...kinds.text,
      describe:
        'New directory (default: `adapter` or `model` in the output directory of the exported config)',
    })
    .option('json', common.json)
    .example('$0 finetune import cluster', 'imports the result of an exported folder');

type Args = Arguments<typeof options>;

/** The imported adapter or model; `model` is the config section that uses it. */
export interface Output {
  readonly kind: 'adapter' | 'model';
  readonly outcome: TrlOutcome;
  readonly warnings: readonly string[];
  readonly out: string;
  readonly model: { readonly provider: string; readonly path: string; readonly adapter?: string };
  /** Training, base and dataset, as in `training.json`. */
  readonly lineage: Readonly<Record<string, unknown>>;
}

export const finishing = 'stopping';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { importTrained } = await import('../handoff/import-adapter.js');
  const { findTrained } = await import('../handoff/trained-directory.js');
  const { modelDirectory } = await import('../../src/models/local/settings.js');
  const job = {
    trained: findTrained(modelDirectory(args.directory, context.cwd, 'directory')),
    base: args.model === undefined ? undefined : modelDirectory(args.model, context.cwd, '--model'),
    out: args.out === undefined ? undefined : resolve(context.cwd, args.out),
    ignoredKeys: listed(args.ignoreKeys),
    cwd: context.cwd,
  };
  const { stoppable } = await import('../export/writing.js');
  const imported = await stoppable({ quiet: true }, context, (hooks) => importTrained(job, hooks));
  if (imported === undefined) return exitCodes.interrupted;
  const { kind, directory, base, outcome, warnings, lineage } = imported;
  const shown = shownPath(directory, context.cwd);
  const model =
    base === undefined
      ? { provider: 'local', path: shown }
      : { provider: 'local', path: shownPath(base, context.cwd), adapter: shown };
  if (args.json) {
    context.print(JSON.stringify({ kind, out: shown, model, outcome, warnings, lineage } satisfies Output));
    return 0;
  }
  const { step, best, lastLoss } = outcome;
  const facts = [
    ...(step === undefined ? [] : [plural(step, 'step')]),
    ...(lastLoss === undefined ? [] : [`last loss ${lastLoss.toFixed(4)}`]),
    ...(best === undefined ? [] : [`lowest validation loss ${best.loss.toFixed(4)} at step ${best.step}`]),
  ];
  context.print(
    [
      `${kind.padEnd(11)} ${shown}`,
      ...(facts.length === 0 ? [] : [`training    ${facts.join(', ')}`]),
      'use it      in a config:',
      `  model: ${JSON.stringify(model)}`,
    ].join('\n'),
  );
  for (const warning of warnings) context.note(`${styleText('yellow', 'note')} ${warning}`);
  return 0;
}
