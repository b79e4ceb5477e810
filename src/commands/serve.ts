import type { Argv } from 'yargs';
import { type Arguments, common, kinds, listed } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import { type Problem, UserError } from '../base/errors.js';
import type { LocalConfig } from '../models/local/settings.js';
import type { EnvironmentsReady } from '../serve/environments/server.js';
import { type LoopbackHost, loopbackHosts, requirePort } from '../serve/http.js';
import type { NamedAdapter, Ready } from '../serve/server.js';

export const options = (y: Argv) =>
  y
    .option('model', {
      ...kinds.text,
      describe:
        'Directory of a Hugging Face model, a GGUF file, `ollama:…` or `hf:…` (default: the embedded model)',
    })
    .option('adapter', {
      ...kinds.text,
      array: true,
      default: [],
      describe: 'LoRA adapter that requests can select by name: directory or name=directory',
    })
    .option('port', { ...kinds.number, default: 8000, describe: 'Port; 0 for any free one' })
    .option('host', { ...kinds.text, default: '127.0.0.1', describe: 'Address: 127.0.0.1 or ::1' })
    .option('device', {
      ...kinds.text,
      default: 'auto',
      describe: 'Device: auto, cpu, cuda, webgpu, dml or coreml',
    })
    .option('quantization', {
      ...kinds.text,
      default: 'none',
      describe: 'Quantization: none, int8, int4, int4-block128, float16 or float32',
    })
    .option('threads', { ...kinds.number, describe: 'CPU threads (default: one per idle physical core)' })
    .option('batch', {
      ...kinds.number,
      describe: 'Maximum number of requests answered together; more than 1 only on the CPU (default: 1)',
    })
    .option('context-tokens', {
      ...kinds.number,
      describe: "Maximum number of tokens in prompt and answer together (default: the model's)",
    })
    .option('template', {
      ...kinds.text,
      array: true,
      default: [],
      describe: 'Chat template variable as name=value, e.g. enable_thinking=false',
    })
    .option('ignore-keys', common.ignoreKeys)
    .option('environments', {
      type: 'string',
      array: true,
      describe: 'Serve environments instead of a model: ids, or name=id (default: all built-in ones)',
    })
    .option('option', {
      ...kinds.text,
      array: true,
      default: [],
      describe: 'Environment option as name=value, e.g. is_slippery=false',
    })
    .option('stdio', { ...kinds.flag, describe: 'Serve environments over JSON lines instead of HTTP' })
    .option('sessions', { ...kinds.number, describe: 'Maximum number of sessions (default: 64)' })
    .option('idle-seconds', {
      ...kinds.number,
      describe: "Maximum time between a client's messages, in seconds (default: 3600)",
    })
    .option('json', { ...kinds.flag, describe: 'Print a JSON line when ready' })
    .example('$0 serve --model models/Qwen2.5-0.5B-Instruct --quantization int4', 'use less memory')
    .example(
      '$0 serve --model models/Qwen2.5-0.5B-Instruct --adapter tuned=runs/tuned/adapter',
      'serve the model with and without an adapter',
    )
    .example('$0 serve --environments CartPole-v1', 'an environment for OpenEnv clients')
    .example('$0 serve --environments text:cooking --stdio', 'for a program that starts the server itself');

type Args = Arguments<typeof options>;

/** The address of the model or the environments. */
export type Output = Ready | EnvironmentsReady;

export const finishing = 'answering pending requests (press Ctrl-C again to stop immediately)';

/** Serves a model, or environments with `--environments`, until Ctrl-C. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  if (args.environments !== undefined) return environmentsServed(args, args.environments, context);
  refuseOthers(args, ofEnvironments, 'without --environments', 'add --environments or remove this option');
  const host = readHost(args.host);
  const port = requirePort(args.port);
  const settings = await readSettings(args, context.cwd);
  const { modelName } = await import('../models/local/process/local-model.js');
  const { modelDirectory } = await import('../models/local/settings.js');
  const { serveModels } = await import('../serve/server.js');
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

async function environmentsServed(
  args: Args,
  ids: readonly string[],
  context: CommandContext,
): Promise<number> {
  refuseOthers(
    args,
    ofModels,
    'with --environments',
    'remove this option, or serve the model with a separate command',
  );
  if (args.stdio) refuseOthers(args, ofAddress, 'with --stdio', 'remove one of the two');
  const { parse } = await import('yaml');
  const { offerEnvironments } = await import('../serve/environments/offered.js');
  const { serveEnvironments, serveLines } = await import('../serve/environments/server.js');
  const host = readHost(args.host);
  const port = requirePort(args.port);
  const sessions = requireCount('--sessions', args.sessions ?? 64, 1);
  const idleSeconds = requireIdle(args.idleSeconds ?? 3600);
  const given = args.option.map((text) => readVariable(text, '--option', 'is_slippery=false'));
  const options = Object.fromEntries(given.map(([name, value]) => [name, parse(value) as unknown]));
  const offered = await offerEnvironments(ids, options, context.cwd);
  if (args.stdio) {
    await serveLines(offered, sessions, process.stdin, context);
  } else {
    await serveEnvironments(offered, { sessions, idleSeconds }, { host, port }, context, (ready) =>
      context.print(args.json ? JSON.stringify(ready) : ready.url),
    );
  }
  return 0;
}

/** Node's timers overflow beyond this number of seconds. */
const longestIdle = Math.floor((2 ** 31 - 1) / 1000);

function requireIdle(seconds: number): number {
  if (requireCount('--idle-seconds', seconds, 1) <= longestIdle) return seconds;
  throw new UserError({
    field: '--idle-seconds',
    value: seconds,
    message: `must be at most ${longestIdle} seconds (24 days)`,
  });
}

/** Defaults of options that have no effect on some servers. */
type Defaults = Readonly<Partial<Record<keyof Args, unknown>>>;
const ofModels: Defaults = {
  ...{ model: undefined, adapter: [], device: 'auto', quantization: 'none', threads: undefined },
  ...{ batch: undefined, contextTokens: undefined, template: [], ignoreKeys: undefined },
};
const ofEnvironments: Defaults = {
  ...{ option: [], stdio: false, sessions: undefined, idleSeconds: undefined },
};
const ofAddress: Defaults = { host: '127.0.0.1', port: 8000, idleSeconds: undefined, json: false };

/** @throws UserError if one of these options differs from its default */
function refuseOthers(args: Args, defaults: Defaults, what: string, remedy: string): void {
  const given = Object.entries(defaults).find(([name, value]) => {
    const own = args[name as keyof Args];
    return Array.isArray(value) ? (own as readonly unknown[]).length > 0 : own !== value;
  });
  if (given === undefined) return;
  const [name] = given;
  throw new UserError({
    field: optionOf(name),
    value: args[name as keyof Args],
    message: `has no effect ${what}`,
    remedy,
  });
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
      args.template
        .map((text) => readVariable(text, '--template', 'enable_thinking=false'))
        .map(([name, value]) => [name, parse(value) as unknown]),
    ),
  });
  // Each request sets the length and form of its answer.
  if (parsed.success) return { ...parsed.data, maxTokens: Number.MAX_SAFE_INTEGER, format: 'constrained' };
  throw new UserError(
    parsed.error.issues.map((issue) => ({
      field: optionOf(String(issue.path[0])),
      value: args[issue.path[0] as keyof Args],
      message: issue.message,
    })),
  );
}

/** @throws UserError if two models would have the same name */
function readAdapters(
  given: readonly string[],
  base: string,
  nameOf: (directory: string) => string,
  directoryOf: (path: string) => string,
): NamedAdapter[] {
  const adapters = given.map((text) => {
    // In runs/lr=3/adapter, the equals sign belongs to the path.
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
        ? `an adapter can't have the model's name, ${base}`
        : `two adapters have the name ${twice.name}`,
    remedy: 'choose a name: --adapter name=directory',
  });
}

function readVariable(text: string, option: string, example: string): readonly [name: string, value: string] {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new UserError({
      field: option,
      value: text,
      message: 'must be name=value',
      remedy: `write, for example, ${option} ${example}`,
    });
  return [name, value];
}

function readHost(given: string): LoopbackHost {
  const host = loopbackHosts.find((known) => known === given);
  if (host !== undefined) return host;
  throw new UserError({
    field: '--host',
    value: given,
    message: 'servers only accept connections from this machine',
    alternatives: loopbackHosts,
    remedy: 'to reach it from another machine, forward the port: ssh -L 8000:127.0.0.1:8000 HOST',
  });
}

/** Replaces fields such as `model.contextTokens` with the names of their options. */
function asOption(problem: Problem): Problem {
  const [section, key] = problem.field?.split('.') ?? [];
  if (section !== 'model' || key === undefined) return problem;
  return { ...problem, field: key === 'path' ? '--model' : optionOf(key) };
}

function optionOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
