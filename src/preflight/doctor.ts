/** The checks of `policyloop doctor`, each of one thing. */

import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, freemem, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { promisify, styleText } from 'node:util';
import { childEnvironment } from '../base/child-environment.js';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import { formatBytes, plural } from '../format/numbers.js';
import { readHost } from '../models/hosted/ollama.js';
import { findDevices } from '../models/local/engine/find-devices.js';
import { hfCache, hfModels } from '../models/local/stores/hf-cache.js';
import { largest } from '../statistics/descriptive.js';
import { parseJson } from '../storage/json-depth.js';

/** `missing`: something is not there that nobody needs to have. `problem`: what is there is broken, or too little. */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'missing' | 'problem';
  /** What was found, in words; of a key only whether it is set. */
  readonly found: string;
  /** What to do about it; absent where all is well. */
  readonly remedy?: string;
}

/** What an examination looks at. */
export interface Surroundings extends Pick<CommandContext, 'cwd' | 'env'> {
  readonly runsDir: string;
  /** Whether other machines may be asked. Ollama is asked wherever it is. */
  readonly offline: boolean;
  readonly fetch: typeof fetch;
}

const run = promisify(execFile);

const oldestNode = [20, 19] as const;

export function nodeVersion(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNew = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  return {
    name: 'Node.js',
    ...{ status: isNew ? 'ok' : 'problem', found: version },
    ...(!isNew && { remedy: `install ${oldestNode.join('.')} or newer: https://nodejs.org` }),
  };
}

/** Less leaves no room for a model of any use beside a run. */
const leastMemory = 2 * 2 ** 30;

export function computer(): readonly Check[] {
  const model = cpus()[0]?.model.trim() ?? 'of an unknown kind';
  const isEnough = totalmem() >= leastMemory;
  return [
    { name: 'processor', status: 'ok', found: `${plural(availableParallelism(), 'thread')}, ${model}` },
    {
      name: 'memory',
      status: isEnough ? 'ok' : 'problem',
      found: `${formatBytes(totalmem())}, of which ${formatBytes(freemem())} free`,
      ...(!isEnough && {
        remedy:
          'local models need more; let a server answer: model.provider ollama or openai, on another machine',
      }),
    },
  ];
}

/** A run of a language model leaves some megabytes; a download of a model needs gigabytes. */
const leastDisk = 2 ** 30;

export function disk({ cwd, runsDir }: Surroundings): Check {
  const folder = nearestFolder(resolve(cwd, runsDir));
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const found = `${formatBytes(free)} free for ${runsDir}`;
  if (!isWritable(folder))
    return {
      ...{ name: 'disk', status: 'problem', found: `${folder} can't be written to` },
      remedy: 'change its permissions, or name another with --runs-dir',
    };
  if (free >= leastDisk) return { name: 'disk', status: 'ok', found };
  return {
    ...{ name: 'disk', status: 'problem', found },
    remedy: 'make room: policyloop remove --empty-trash, policyloop models list',
  };
}

const nearestFolder = (path: string): string => (existsSync(path) ? path : nearestFolder(dirname(path)));

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** What local models run on. */
export async function modelRuntime(): Promise<Check> {
  const name = 'local models';
  try {
    const { auto, unusable, usable } = await findDevices();
    const [first] = unusable;
    return {
      ...{ name, status: 'ok', found: `run on ${usable.join(', ')}; model.device auto takes ${auto}` },
      ...(first && { remedy: `${first.device} can't be used: ${first.reason}; ${first.remedy}` }),
    };
  } catch (error) {
    const problem = error instanceof UserError ? error.problems[0]! : { message: messageOf(error) };
    return {
      ...{ name, status: 'problem', found: problem.message },
      remedy: problem.remedy ?? 'reinstall policyloop',
    };
  }
}

/** A server on this machine answers at once, one elsewhere soon. */
const answerMs = 3000;

export async function ollama({ env, fetch }: Surroundings): Promise<Check> {
  const name = 'Ollama';
  let place = '';
  try {
    const { origin, password, username } = readHost({ host: undefined }, env);
    place = origin;
    const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString(
      'base64',
    );
    const tags = await fetch(`${origin}/api/tags`, {
      signal: AbortSignal.timeout(answerMs),
      ...(username !== '' && { headers: { authorization: `Basic ${login}` } }),
    });
    const { models = [] } = parseJson(await tags.text()) as {
      readonly models?: readonly { readonly name: string }[];
    };
    const shown = models.slice(0, 6).map((model) => model.name);
    if (models.length === 0)
      return {
        ...{ name, status: 'missing', found: `answers at ${place}, and has no models` },
        remedy: 'ollama pull qwen3:8b',
      };
    const more = models.length > shown.length ? `, and ${models.length - shown.length} more` : '';
    return {
      ...{ name, status: 'ok' },
      found: `answers at ${place}: ${shown.join(', ')}${more}`,
    };
  } catch (error) {
    if (error instanceof UserError) {
      return {
        name,
        status: 'problem',
        found: error.problems[0]!.message,
        remedy: 'mend or unset OLLAMA_HOST',
      };
    }
    return {
      ...{ name, status: 'missing', found: `does not answer at ${place}` },
      remedy:
        'install it from https://ollama.com and start it (ollama serve), or set OLLAMA_HOST to where it runs',
    };
  }
}

export function cachedModels({ env }: Surroundings): Check {
  const models = hfModels(env);
  const name = 'Hugging Face';
  if (models.length > 0)
    return { name, status: 'ok', found: `${plural(models.length, 'model')} in ${hfCache(env)}` };
  return {
    ...{ name, status: 'missing', found: `no models in ${hfCache(env)}` },
    remedy: 'policyloop models pull hf:HuggingFaceTB/SmolLM2-135M-Instruct',
  };
}

const pythonOf = ({ env }: Surroundings) => env.POLICYLOOP_PYTHON ?? 'python3';

const pythonMs = 20_000;

const ask = (surroundings: Surroundings, args: readonly string[]) =>
  run(pythonOf(surroundings), args, {
    env: childEnvironment(surroundings.env),
    ...{ timeout: pythonMs, maxBuffer: 2 ** 20 },
  });

export async function python(surroundings: Surroundings): Promise<Check> {
  const program = pythonOf(surroundings);
  try {
    const { stderr, stdout } = await ask(surroundings, ['--version']);
    const version = (stdout || stderr).trim().replace(/^Python /, '');
    return { name: 'Python', status: 'ok', found: `${version} (${program})` };
  } catch (error) {
    const isNamed = surroundings.env.POLICYLOOP_PYTHON !== undefined;
    return {
      ...{ name: 'Python', status: isNamed ? 'problem' : 'missing' },
      found: `${program} ${(error as NodeJS.ErrnoException).code === 'ENOENT' ? 'is not there' : 'does not run'}`,
      remedy: isNamed
        ? 'let POLICYLOOP_PYTHON name an interpreter'
        : 'only gymnasium: environments need it; install it, or let POLICYLOOP_PYTHON name it',
    };
  }
}

export async function gymnasium(surroundings: Surroundings): Promise<Check> {
  const name = 'Gymnasium';
  try {
    const { stdout } = await ask(surroundings, ['-c', 'import gymnasium; print(gymnasium.__version__)']);
    return { name, status: 'ok', found: stdout.trim() };
  } catch {
    return {
      ...{ name, status: 'missing', found: `${pythonOf(surroundings)} can't import it` },
      remedy: 'for gymnasium: environments, pip install "gymnasium[mujoco]"; those of the README need none',
    };
  }
}

/** Packages that are installed by those who need them. */
const optional = [
  ['@duckdb/node-api', 'policyloop query'],
  ['ifvms', 'TextWorld games in .z8 files'],
] as const;

export function packages(): readonly Check[] {
  const require = createRequire(import.meta.url);
  return optional.map(([name, use]): Check => {
    try {
      require.resolve(name);
      return { name, status: 'ok', found: `installed, for ${use}` };
    } catch {
      return {
        ...{ name, status: 'missing', found: 'not installed' },
        remedy: `for ${use}: npm install ${name}`,
      };
    }
  });
}

const keyNames = [
  ['OPENAI_API_KEY', 'model.provider openai'],
  ['HF_TOKEN', 'gated models of Hugging Face'],
] as const;

/** Whether keys are set; what they are is nobody's concern. */
export const keys = ({ env }: Surroundings): readonly Check[] =>
  keyNames.map(([name, use]): Check => {
    const value = env[name];
    if (value !== undefined && value.trim() !== '') return { name, status: 'ok', found: 'set' };
    return {
      ...{ name, status: 'missing', found: value === undefined ? 'not set' : 'set to nothing' },
      remedy: `for ${use}: export ${name}=…`,
    };
  });

export async function network({ fetch, offline }: Surroundings): Promise<Check> {
  const name = 'network';
  if (offline) return { name, status: 'ok', found: 'not asked (--offline)' };
  try {
    await fetch('https://huggingface.co', { method: 'HEAD', signal: AbortSignal.timeout(answerMs) });
    return { name, status: 'ok', found: 'huggingface.co answers' };
  } catch {
    return {
      ...{ name, status: 'missing', found: 'huggingface.co does not answer' },
      remedy:
        'only models pull and hosted models need it; behind a proxy, set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY (Node 24)',
    };
  }
}

/** What is there and works on this machine, and what to do where it isn't. */

export interface Examination {
  /** No problem: what there is can be used. */
  readonly healthy: boolean;
  readonly checks: readonly Check[];
}

/** Looks at everything; nothing is installed, written or paid for. */
export async function examine(surroundings: Surroundings): Promise<Examination> {
  const checks = await Promise.all([
    nodeVersion(process.versions.node),
    ...computer(),
    disk(surroundings),
    modelRuntime(),
    ollama(surroundings),
    cachedModels(surroundings),
    python(surroundings),
    gymnasium(surroundings),
    ...packages(),
    ...keys(surroundings),
    network(surroundings),
  ]);
  return { healthy: checks.every(({ status }) => status !== 'problem'), checks };
}

const marks = {
  ok: () => styleText('green', 'ok     '),
  missing: () => styleText('yellow', 'none   '),
  problem: () => styleText('red', 'problem'),
} as const;

/** A line a check, its remedy below it. */
export function examinationText({ checks }: Examination): string {
  const width = largest(checks.map(({ name }) => name.length));
  return checks
    .flatMap(({ found, name, remedy, status }) => [
      `${marks[status]()}  ${name.padEnd(width)}  ${found}`,
      ...(remedy === undefined ? [] : [`${' '.repeat(width + 11)}${remedy}`]),
    ])
    .join('\n');
}
