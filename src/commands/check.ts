import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import { type CommandContext, exitCodes } from '../base/context.js';
import { splitOverrides } from '../base/overrides-apart.js';
import { plural } from '../base/text/numbers.js';
import { createProgress } from '../base/text/progress.js';
import { describeFindings, errorsIn, type Finding, warningsIn } from '../experiment/preflight/findings.js';
import type { RunEstimate } from '../experiment/preflight/run-estimate.js';

export const options = (y: Argv) =>
  y
    .positional('configs', {
      type: 'string',
      array: true,
      describe:
        'Config files or names of bundled configs (default: check the setup of this machine); key=value overrides apply to all of them',
    })
    .option('offline', { ...kinds.flag, describe: "Don't contact servers or run code that a config names" })
    .option('strict', { ...kinds.flag, describe: 'Exit with code 2 even if there are only warnings' })
    .option('json', commonOptions.json)
    .example('$0 check', 'check Node, memory, disk, devices, Ollama, Python and API keys')
    .example('$0 check configs/*.yaml --offline', 'in CI')
    .example(
      '$0 check cartpole-semantic model.name=qwen3:8b',
      'check that the model exists and the prompts fit its context',
    );

/** Findings for each config, or for the setup. */
type Output = {
  readonly configs: readonly {
    /** Null for the setup. */
    readonly config: string | null;
    readonly findings: readonly (Finding & {
      /** Estimated calls, tokens and cost. */
      readonly estimate?: RunEstimate;
    })[];
  }[];
  readonly errors: number;
  readonly warnings: number;
};

export const finishingText = 'stopping';

/** Checks a config of `play` or `finetune`; returns undefined for experiments and unreadable configs. */
export type OtherConfigCheck = (
  config: { readonly file: string; readonly overrides: readonly string[] },
  context: CommandContext,
) => Promise<readonly Finding[] | undefined>;

/** @param otherCheck tried first @returns 130 if interrupted, 2 for errors (if strict, also for warnings), or 0 */
export async function execute(
  args: Arguments<typeof options>,
  context: CommandContext,
  otherCheck: OtherConfigCheck = async () => undefined,
): Promise<number> {
  const { files, overrides } = splitOverrides(args.configs ?? []);
  const { checkConfig } = await import('../experiment/preflight/check-config.js');
  const progress = createProgress({ quiet: args.json }, context);
  const results: Output['configs'][number][] = [];
  for (const file of files) {
    const config = { file, overrides };
    const findings =
      (await otherCheck(config, context)) ?? (await checkConfig(config, args.offline, context, progress));
    progress.close();
    // An interrupted check has no result.
    if (context.stop.finish.aborted) return exitCodes.interrupted;
    results.push({ config: file, findings });
    if (!args.json) context.print(`${results.length > 1 ? '\n' : ''}${file}\n${describeFindings(findings)}`);
  }
  if (files.length === 0) {
    const { checkSetup } = await import('../experiment/preflight/setup.js');
    const findings = await checkSetup(context, args.offline);
    results.push({ config: null, findings });
    if (!args.json) context.print(describeFindings(findings));
  }
  const allFindings = results.flatMap(({ findings }) => findings);
  const [errors, warnings] = [errorsIn(allFindings).length, warningsIn(allFindings).length];
  context.print(
    args.json
      ? JSON.stringify({ configs: results, errors, warnings } satisfies Output)
      : `\n${plural(errors, 'error')}, ${plural(warnings, 'warning')}`,
  );
  return errors > 0 || (args.strict && warnings > 0) ? exitCodes.usage : 0;
}
