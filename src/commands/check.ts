import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../command.js';
import { isLanguageModel, type ModelConfig } from '../config/config.js';
import { type LoadedConfig, loadConfig } from '../config/load.js';
import { type CommandContext, exitCodes } from '../context.js';
import { UserError } from '../errors.js';
import { type Assembly, assemble, closeEnvironment } from '../experiment/assemble.js';
import { createModel } from '../experiment/create-model.js';
import { formatDuration } from '../format/numbers.js';
import { ModelError } from '../models/language-model.js';
import { describeFindings, errorsIn, type Finding, found, warningsIn } from '../preflight/findings.js';
import { contextOf } from '../preflight/model-context.js';
import { preflight } from '../preflight/preflight.js';
import { withoutOverrides } from '../studies/study.js';

export const options = (y: Argv) =>
  y
    .positional('configs', {
      type: 'string',
      array: true,
      demandOption: true,
      describe: 'Config files or names of ready ones; key=value overrides hold for all of them',
    })
    .option('offline', {
      ...kinds.flag,
      describe: 'Ask no server: neither for its context nor for the one short answer that shows it is there',
    })
    .option('strict', { ...kinds.flag, describe: 'Exit with 2 on warnings too' })
    .option('json', common.json)
    .example('$0 check configs/*.yaml --offline', 'in CI')
    .example('$0 check cartpole-semantic model.name=qwen3:8b', 'is the model there, does all fit?');

type Args = Arguments<typeof options>;

export const finishing = 'stopping';

/** `policyloop check <configs…> [key=value…]`: 0 where each can be run, 2 where one can't. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { files, overrides } = withoutOverrides(args.configs);
  if (files.length === 0) {
    throw new UserError({
      field: 'configs',
      message: 'name a config',
      remedy: 'policyloop check quickstart',
    });
  }
  const checked: { readonly config: string; readonly findings: readonly Finding[] }[] = [];
  for (const file of files) {
    const findings = await checkFile(file, overrides, args, context);
    checked.push({ config: file, findings });
    if (!args.json) context.print(`${checked.length > 1 ? '\n' : ''}${file}\n${describeFindings(findings)}`);
  }
  const all = checked.flatMap(({ findings }) => findings);
  const [errors, warnings] = [errorsIn(all).length, warningsIn(all).length];
  context.print(
    args.json
      ? JSON.stringify({ configs: checked, errors, warnings })
      : `\n${errors} ${errors === 1 ? 'error' : 'errors'}, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`,
  );
  return errors > 0 || (args.strict && warnings > 0) ? exitCodes.usage : 0;
}

async function checkFile(
  file: string,
  overrides: readonly string[],
  args: Args,
  context: CommandContext,
): Promise<readonly Finding[]> {
  let loaded: LoadedConfig | undefined;
  try {
    loaded = loadConfig({ file, overrides, cwd: context.cwd });
    const assembly = await assemble(loaded.config, context.env);
    try {
      const findings = preflight(assembly, await contextOf(assembly, !args.offline));
      const answer = args.offline ? [] : await askModel(assembly, context);
      return [...notesOf(loaded), ...located(loaded, [...findings, ...answer])];
    } finally {
      await closeEnvironment(assembly);
      await assembly.model.close?.();
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const { problems } = loaded?.locate(error) ?? error;
    return [...notesOf(loaded), ...problems.map((problem): Finding => ({ level: 'error', ...problem }))];
  }
}

/** What an import or an override did beyond what it says is in order, but has to be known. */
const notesOf = (loaded: LoadedConfig | undefined): readonly Finding[] =>
  (loaded?.notes ?? []).map((note) => found('config', note.trim()));

/** With their places in the file. */
function located(loaded: LoadedConfig, findings: readonly Finding[]): readonly Finding[] {
  return findings.map((finding) =>
    finding.level === 'ok' ? finding : { ...finding, ...loaded.locate(new UserError(finding)).problems[0]! },
  );
}

/** Of one call that shall only show whether there is an answer. */
const probe = {
  messages: [
    { role: 'user', content: 'This is a test of the connection. Answer with this line alone:\nparams[0]: 1' },
  ],
  options: {
    task: {
      parameters: { count: 1, kind: 'integer', low: 0, high: 9, decimals: 0 },
      history: [],
      warmup: 0,
    },
    seed: 0,
  },
} as const;

async function askModel({ config, model }: Assembly, context: CommandContext): Promise<readonly Finding[]> {
  if (!isLanguageModel(config.model)) return [];
  try {
    const asked = 'maxRetries' in config.model ? createModel(impatient(config.model), context.env) : model;
    const opened = await asked.open?.();
    const completion = await asked.generate(probe.messages, {
      ...probe.options,
      signal: context.stop.finish,
    });
    const { finishReason, latencyMs, text, usage, warnings = [] } = completion;
    const spent = `${formatDuration(latencyMs)}, ${usage.promptTokens ?? '?'} tokens in, ${usage.completionTokens ?? '?'} out`;
    const name = opened ?? asked.id;
    return [
      text.trim() === ''
        ? {
            level: 'warning',
            field: 'model',
            message: `${name} gave an empty answer (${finishReason}; ${spent})`,
            remedy: 'raise model.maxTokens: a reasoning model may spend all of it before it answers',
          }
        : found('model', `${name} answers (${spent})`),
      ...warnings.map((message): Finding => ({ level: 'warning', field: 'model', message })),
    ];
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return [{ level: 'error', field: 'model', message: `gave no answer: ${error.message}` }];
  }
}

/** A check tells at once what a run would wait for. */
function impatient(config: ModelConfig): ModelConfig {
  if (!('maxRetries' in config)) return config;
  return { ...config, maxRetries: 0, timeoutSeconds: Math.min(config.timeoutSeconds, 60) };
}
