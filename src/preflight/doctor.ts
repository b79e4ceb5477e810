/** `policyloop doctor`: checks the setup of this machine, and suggests remedies. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus } from 'node:os';
import { dirname, resolve } from 'node:path';
import { promisify, styleText } from 'node:util';
import { childEnvironment } from '../base/child-environment.js';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import { machineMemory } from '../base/machine-memory.js';
import { formatBytes, plural } from '../format/numbers.js';
import { readHost } from '../models/hosted/ollama.js';
import { findDevices } from '../models/local/engine/find-devices.js';
import { hfCache, hfModels } from '../models/local/stores/hf-cache.js';
import { largest } from '../statistics/descriptive.js';
import { parseJson } from '../storage/json-depth.js';

export interface Check {
  readonly name: string;
  /** `missing`: absent, but optional; `problem`: broken or too small. */
  readonly status: 'ok' | 'missing' | 'problem';
  /** What was found; for an API key, only whether it is set. */
  readonly found: string;
  readonly remedy?: string;
}

const ok = (name: string, found: string): Check => ({ name, status: 'ok', found });
const missing = (name: string, found: string, remedy: string): Check => ({
  ...{ name, status: 'missing', found, remedy },
});
const problem = (name: string, found: string, remedy: string): Check => ({
  ...{ name, status: 'problem', found, remedy },
});

interface Surroundings extends Pick<CommandContext, 'cwd' | 'env'> {
  readonly runsDir: string;
  /** If true, contacts no server except Ollama. */
  readonly offline: boolean;
  readonly fetch: typeof fetch;
}

export interface Examination {
  /** True if no check found a problem. */
  readonly healthy: boolean;
  readonly checks: readonly Check[];
}

/** Runs all checks. They install nothing, write nothing and cost nothing. */
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

/** Formats one line per check, with its remedy below. */
export function examinationText({ checks }: Examination): string {
  const width = largest(checks.map(({ name }) => name.length));
  return checks
    .flatMap(({ found, name, remedy, status }) => [
      `${marks[status]()}  ${name.padEnd(width)}  ${found}`,
      ...(remedy === undefined ? [] : [`${' '.repeat(width + 11)}${remedy}`]),
    ])
    .join('\n');
}

const oldestNode = [20, 19] as const;

export function nodeVersion(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isNew = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  const remedy = `install version ${oldestNode.join('.')} or newer: https://nodejs.org`;
  return isNew ? ok('Node.js', version) : problem('Node.js', version, remedy);
}

/** Minimum memory in bytes for a useful local model alongside a run. */
const leastMemory = 2 * 2 ** 30;

function computer(): readonly Check[] {
  const model = cpus()[0]?.model.trim() ?? 'unknown model';
  const { free, total } = machineMemory();
  const memory = `${formatBytes(total)}, ${formatBytes(free)} free`;
  const remedy = 'local models need more; use a server on another machine (model.provider ollama or openai)';
  return [
    ok('processor', `${plural(availableParallelism(), 'thread')}, ${model}`),
    total >= leastMemory ? ok('memory', memory) : problem('memory', memory, remedy),
  ];
}

/** Minimum free disk space in bytes: runs need megabytes, downloaded models need gigabytes. */
const leastDisk = 2 ** 30;

function disk({ cwd, runsDir }: Surroundings): Check {
  const folder = nearestFolder(resolve(cwd, runsDir));
  const { bavail, bsize } = statfsSync(folder);
  const found = `${formatBytes(bavail * bsize)} free for ${runsDir}`;
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    return problem(
      'disk',
      `${folder} isn't writable`,
      'change its permissions, or choose another directory with --runs-dir',
    );
  }
  if (bavail * bsize >= leastDisk) return ok('disk', found);
  return problem('disk', found, 'free some space, e.g. with policyloop remove');
}

const nearestFolder = (path: string): string => (existsSync(path) ? path : nearestFolder(dirname(path)));

async function modelRuntime(): Promise<Check> {
  const name = 'local models';
  try {
    const { auto, unusable, usable } = await findDevices();
    const [first] = unusable;
    return {
      ...ok(name, `run on ${usable.join(', ')}; model.device auto chooses ${auto}`),
      ...(first && { remedy: `${first.device} can't be used: ${first.reason}; ${first.remedy}` }),
    };
  } catch (error) {
    const { message, remedy = 'reinstall policyloop' } =
      error instanceof UserError ? error.problems[0]! : { message: messageOf(error) };
    return problem(name, message, remedy);
  }
}

const answerMs = 3000;

async function ollama({ env, fetch }: Surroundings): Promise<Check> {
  const name = 'Ollama';
  let place = '';
  try {
    const { origin, password, username } = readHost({ host: undefined }, env);
    place = origin;
    const login = btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
    const tags = await fetch(`${origin}/api/tags`, {
      signal: AbortSignal.timeout(answerMs),
      ...(username !== '' && { headers: { authorization: `Basic ${login}` } }),
    });
    const { models = [] } = parseJson(await tags.text()) as {
      readonly models?: readonly { readonly name: string }[];
    };
    if (models.length === 0)
      return missing(name, `running at ${place}, without models`, 'run ollama pull qwen3:8b');
    const shown = models.slice(0, 6).map((model) => model.name);
    const more = models.length > shown.length ? `, and ${models.length - shown.length} more` : '';
    return ok(name, `running at ${place}: ${shown.join(', ')}${more}`);
  } catch (error) {
    if (error instanceof UserError)
      return problem(name, error.problems[0]!.message, 'fix or unset OLLAMA_HOST');
    const remedy =
      'install it from https://ollama.com and start it (ollama serve), or set OLLAMA_HOST to its address';
    return missing(name, `no answer from ${place}`, remedy);
  }
}

function cachedModels({ env }: Surroundings): Check {
  const models = hfModels(env);
  const name = 'Hugging Face';
  if (models.length > 0) return ok(name, `${plural(models.length, 'model')} in ${hfCache(env)}`);
  const remedy = 'run policyloop models pull hf:HuggingFaceTB/SmolLM2-135M-Instruct';
  return missing(name, `no models in ${hfCache(env)}`, remedy);
}

const pythonOf = ({ env }: Surroundings) => env.POLICYLOOP_PYTHON ?? 'python3';

const askPython = (surroundings: Surroundings, args: readonly string[]) =>
  promisify(execFile)(pythonOf(surroundings), args, {
    env: childEnvironment(surroundings.env),
    ...{ timeout: 20_000, maxBuffer: 2 ** 20 },
  });

async function python(surroundings: Surroundings): Promise<Check> {
  const program = pythonOf(surroundings);
  try {
    const { stderr, stdout } = await askPython(surroundings, ['--version']);
    return ok('Python', `${(stdout || stderr).trim().replace(/^Python /, '')} (${program})`);
  } catch (error) {
    const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
    const found = `${program} ${isAbsent ? 'not found' : "can't be run"}`;
    return surroundings.env.POLICYLOOP_PYTHON === undefined
      ? missing(
          'Python',
          found,
          'needed only for gymnasium: and textworld-express: environments; install Python, or set POLICYLOOP_PYTHON',
        )
      : problem('Python', found, 'set POLICYLOOP_PYTHON to a Python interpreter');
  }
}

async function gymnasium(surroundings: Surroundings): Promise<Check> {
  const name = 'Gymnasium';
  try {
    const { stdout } = await askPython(surroundings, [
      '-c',
      'import gymnasium; print(gymnasium.__version__)',
    ]);
    return ok(name, stdout.trim());
  } catch {
    const remedy = 'needed only for gymnasium: environments; run pip install "gymnasium[mujoco]"';
    return missing(name, `${pythonOf(surroundings)} can't import it`, remedy);
  }
}

const optional = [['ifvms', 'TextWorld games in .z8 files']] as const;

function packages(): readonly Check[] {
  const require = createRequire(import.meta.url);
  return optional.map(([name, use]): Check => {
    try {
      require.resolve(name);
      return ok(name, `installed (for ${use})`);
    } catch {
      return missing(name, 'not installed', `needed only for ${use}; run npm install ${name}`);
    }
  });
}

const keyNames = [
  ['OPENAI_API_KEY', 'model.provider openai'],
  ['HF_TOKEN', 'gated Hugging Face models'],
] as const;

const keys = ({ env }: Surroundings): readonly Check[] =>
  keyNames.map(([name, use]): Check => {
    const value = env[name];
    if (value !== undefined && value.trim() !== '') return ok(name, 'set');
    return missing(
      name,
      value === undefined ? 'not set' : 'empty',
      `needed only for ${use}; run export ${name}=…`,
    );
  });

async function network({ fetch, offline }: Surroundings): Promise<Check> {
  const name = 'network';
  if (offline) return ok(name, 'not checked (--offline)');
  try {
    await fetch('https://huggingface.co', { method: 'HEAD', signal: AbortSignal.timeout(answerMs) });
    return ok(name, 'huggingface.co is reachable');
  } catch {
    const remedy =
      'needed only for policyloop models pull and hosted models; behind a proxy, set NODE_USE_ENV_PROXY=1 and HTTPS_PROXY (Node 24)';
    return missing(name, "huggingface.co can't be reached", remedy);
  }
}
