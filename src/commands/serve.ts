import type { Argv } from 'yargs';
import { type Arguments, common, kinds, listed } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { type Problem, UserError } from '../base/errors.js';
import type { LocalConfig } from '../models/local/settings.js';
import { type LoopbackHost, loopbackHosts, requirePort } from '../serve/http.js';
import type { NamedAdapter, Ready } from '../serve/serve-models.js';

export const options = (y: Argv) =>
  y
    .option('model', {
      ...kinds.text,
      describe: 'Directory of a Hugging Face model (default: the embedded model)',
    })
    .option('adapter', {
      ...kinds.text,
      array: true,
      default: [],
      describe: 'Directory of a LoRA adapter that requests can name as their model, or name=directory',
    })
    .option('port', { ...kinds.number, default: 8000, describe: 'Port, 0 for any free one' })
    .option('host', { ...kinds.text, default: '127.0.0.1', describe: '127.0.0.1 or ::1' })
    .option('device', { ...kinds.text, default: 'auto', describe: 'auto, cpu, cuda, webgpu, dml or coreml' })
    .option('quantization', { ...kinds.text, default: 'none', describe: 'none, int8, int4 or int4-block128' })
    .option('threads', { ...kinds.number, describe: 'Processor threads (default: the free cores)' })
    .option('batch', {
      ...kinds.number,
      describe: 'Requests that are answered in one batch, on the processor (default: one after the other)',
    })
    .option('context-tokens', {
      ...kinds.number,
      describe: "Longest prompt and answer together (default: the model's own)",
    })
    .option('template', {
      ...kinds.text,
      array: true,
      default: [],
      describe: 'name=value for the chat template, e.g. enable_thinking=false',
    })
    .option('ignore-keys', common.ignoreKeys)
    .option('json', { ...kinds.flag, describe: 'One JSON line when it is ready' })
    .example('$0 serve --model models/Qwen2.5-0.5B-Instruct --quantization int4', 'in less memory')
    .example(
      '$0 serve --model models/Qwen2.5-0.5B-Instruct --adapter tuned=runs/tuned/adapter',
      'two models at once',
    );

type Args = Arguments<typeof options>;

/** The address, when it is served. */
export type Output = Ready;

export const finishing = 'answering what was asked for (Ctrl-C again stops at once)';

/** `policyloop serve [--model <directory>]`: serves until Ctrl-C. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const host = readHost(args.host);
  const port = requirePort(args.port);
  const settings = await readSettings(args, context.cwd);
  const { modelName } = await import('../models/local/process/local-model.js');
  const { modelDirectory } = await import('../models/local/settings.js');
  const { serveModels } = await import('../serve/serve-models.js');
  const name = modelName(settings.path);
  const adapters = readAdapters(args.adapter, name, modelName, (path) =>
    modelDirectory(path, context.cwd, '--adapter'),
  );
  try {
    await serveModels({ settings, name, adapters, host, port }, context, (ready) =>
      context.print(args.json ? JSON.stringify(ready) : ready.url),
    );
    return 0;
  } catch (error) {
    throw error instanceof UserError ? new UserError(error.problems.map(asOption)) : error;
  }
}

async function readSettings(args: Args, cwd: string): Promise<LocalConfig> {
  const { parse } = await import('yaml');
  const { embeddedModel, localSchema, modelDirectory } = await import('../models/local/settings.js');
  const { batch, device, quantization, threads, contextTokens } = args;
  const parsed = localSchema.safeParse({
    provider: 'local',
    path: modelDirectory(args.model ?? embeddedModel, cwd, '--model'),
    device,
    quantization,
    ...(args.ignoreKeys !== undefined && { ignoreKeys: listed(args.ignoreKeys) }),
    ...(threads !== undefined && { threads }),
    ...(batch !== undefined && { batch }),
    ...(contextTokens !== undefined && { contextTokens }),
    template: Object.fromEntries(
      args.template.map(readVariable).map(([name, value]) => [name, parse(value) as unknown]),
    ),
  });
  // A request says how long an answer may be, and whether it must have a form.
  if (parsed.success) return { ...parsed.data, maxTokens: Number.MAX_SAFE_INTEGER, format: 'constrained' };
  throw new UserError(
    parsed.error.issues.map((issue) => ({
      field: optionOf(String(issue.path[0])),
      value: args[issue.path[0] as keyof Args],
      message: issue.message,
    })),
  );
}

/** @throws UserError when two models would have one name */
function readAdapters(
  given: readonly string[],
  base: string,
  nameOf: (directory: string) => string,
  directoryOf: (path: string) => string,
): NamedAdapter[] {
  const adapters = given.map((text) => {
    // In runs/lr=3/adapter, the sign is part of the path.
    const [, name, directory] = /^([^=/\\]+)=(.+)$/s.exec(text) ?? [];
    const adapter = directoryOf(directory ?? text);
    return { name: name ?? nameOf(adapter), adapter };
  });
  const names = [base, ...adapters.map(({ name }) => name)];
  const twice = adapters.find(({ name }) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice === undefined) return adapters;
  throw new UserError({
    field: '--adapter',
    value: twice.adapter,
    message:
      twice.name === base
        ? `an adapter can't have the name of the model itself, ${base}`
        : `two adapters have the name ${twice.name}`,
    remedy: 'give it another name: --adapter name=directory',
  });
}

function readVariable(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new UserError({
      field: '--template',
      value: text,
      message: 'is no name=value',
      remedy: 'e.g. --template enable_thinking=false',
    });
  return [name, value];
}

function readHost(given: string): LoopbackHost {
  const host = loopbackHosts.find((known) => known === given);
  if (host !== undefined) return host;
  throw new UserError({
    field: '--host',
    value: given,
    message: 'only this machine itself is served',
    alternatives: loopbackHosts,
    remedy: 'to reach it from another machine, forward the port, e.g. ssh -L 8000:127.0.0.1:8000',
  });
}

/** What the config calls `model.contextTokens` is an option here. */
function asOption(problem: Problem): Problem {
  const [section, key] = problem.field?.split('.') ?? [];
  if (section !== 'model' || key === undefined) return problem;
  return { ...problem, field: key === 'path' ? '--model' : optionOf(key) };
}

function optionOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
