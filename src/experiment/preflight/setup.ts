/** Checks the setup of this machine. The checks install nothing, write nothing and cost nothing. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { childEnv } from '../../base/child-environment.js';
import type { CommandContext } from '../../base/context.js';
import { problemsOf, UserError } from '../../base/errors.js';
import { parseJson } from '../../base/files/json-depth.js';
import { machineMemory } from '../../base/machine-memory.js';
import { formatBytes, plural } from '../../base/text/numbers.js';
import { parseHost } from '../../models/hosted/ollama.js';
import { findDevices } from '../../models/local/engine/find-devices.js';
import { hfCache, listHfModels } from '../../models/local/stores/hf-cache.js';
import { type Finding, okFinding } from './findings.js';

type SetupContext = Pick<CommandContext, 'cwd' | 'env'>;

const brokenFinding = (field: string, message: string, hint: string): Finding => ({
  level: 'error',
  field,
  message,
  hint,
});

/** An optional part that is missing or can't be used. */
const missingPart = (field: string, message: string, hint: string): Finding => ({
  ...okFinding(field, message),
  hint,
});

/** @param offline if true, doesn't contact an Ollama server */
export async function checkSetup(context: SetupContext, offline: boolean): Promise<readonly Finding[]> {
  const { cwd, env } = context;
  const { freeBytes, totalBytes } = machineMemory();
  const processor = cpus()[0]?.model.trim() ?? 'unknown';
  const models = listHfModels(env);
  const keyFinding = (name: string, use: string) =>
    // Reports whether a key is set, but never the key.
    env[name]?.trim() ? okFinding(name, 'set') : missingPart(name, 'not set', `needed only for ${use}`);
  return Promise.all([
    nodeFinding(process.versions.node),
    okFinding('processor', `${plural(availableParallelism(), 'thread')}, ${processor}`),
    okFinding('memory', `${formatBytes(totalBytes)}, ${formatBytes(freeBytes)} free`),
    diskFinding(nearestFolder(resolve(cwd, 'buffers'))),
    localModelsFinding(),
    ...(offline ? [] : [ollamaFinding(env)]),
    models.length > 0
      ? okFinding('Hugging Face', `${plural(models.length, 'model')} in ${hfCache(env)}`)
      : missingPart(
          'Hugging Face',
          `no models in ${hfCache(env)}`,
          'run policyloop models pull hf:HuggingFaceTB/SmolLM2-135M-Instruct',
        ),
    pythonFinding(env),
    keyFinding('OPENAI_API_KEY', 'model.provider openai'),
    keyFinding('HF_TOKEN', 'gated Hugging Face models'),
  ]);
}

const oldestNode = [20, 19] as const;

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isSupported = major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
  const hint = `install version ${oldestNode.join('.')} or newer: https://nodejs.org`;
  return isSupported ? okFinding('Node.js', version) : brokenFinding('Node.js', version, hint);
}

function diskFinding(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    return brokenFinding('disk', `${folder} isn't writable`, 'change its permissions, or use --runs-dir');
  }
  return okFinding('disk', `${formatBytes(bavail * bsize)} free in ${folder}`);
}

const nearestFolder = (path: string): string => (existsSync(path) ? path : nearestFolder(dirname(path)));

async function localModelsFinding(): Promise<Finding> {
  try {
    const { auto, unusable, usable } = await findDevices();
    const [first] = unusable;
    const message = `run on ${usable.join(', ')}; model.device auto chooses ${auto}`;
    return first === undefined
      ? okFinding('local models', message)
      : missingPart('local models', message, `${first.device} can't be used: ${first.reason}; ${first.hint}`);
  } catch (error) {
    const { message, hint = 'reinstall policyloop' } = problemsOf(error)[0]!;
    return brokenFinding('local models', message, hint);
  }
}

async function ollamaFinding(env: SetupContext['env']): Promise<Finding> {
  let address = '';
  try {
    const { origin, password, username } = parseHost({ host: undefined }, env);
    address = origin;
    const login = btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
    const response = await fetch(`${origin}/api/tags`, {
      signal: AbortSignal.timeout(3000),
      ...(username !== '' && { headers: { authorization: `Basic ${login}` } }),
    });
    const { models = [] } = parseJson(await response.text()) as {
      readonly models?: readonly { readonly name: string }[];
    };
    if (models.length === 0)
      return missingPart('Ollama', `running at ${address}, without models`, 'run ollama pull qwen3:8b');
    const more = models.length > 6 ? `, and ${models.length - 6} more` : '';
    const names = models.slice(0, 6).map((model) => model.name);
    return okFinding('Ollama', `running at ${address}: ${names.join(', ')}${more}`);
  } catch (error) {
    if (error instanceof UserError)
      return brokenFinding('Ollama', error.problems[0]!.message, 'fix or unset OLLAMA_HOST');
    const hint = 'install it from https://ollama.com and start it (ollama serve), or set OLLAMA_HOST';
    return missingPart('Ollama', `no answer from ${address}`, hint);
  }
}

const versionScript =
  'import sys\nprint(sys.version.split()[0])\ntry:\n  import gymnasium\n  print(gymnasium.__version__)\nexcept ImportError: pass';

async function pythonFinding(env: SetupContext['env']): Promise<Finding> {
  const program = env.POLICYLOOP_PYTHON ?? 'python3';
  const needText = 'needed only for gymnasium: and textworld-express: environments';
  try {
    const options = { env: childEnv(env), timeout: 20_000 };
    const { stdout } = await promisify(execFile)(program, ['-c', versionScript], options);
    const [version, gymnasium] = stdout.trim().split('\n');
    if (gymnasium !== undefined)
      return okFinding('Python', `${version} (${program}), Gymnasium ${gymnasium}`);
    const hint = `Gymnasium is ${needText}; run pip install "gymnasium[mujoco]"`;
    return missingPart('Python', `${version} (${program}), without Gymnasium`, hint);
  } catch {
    const message = `${program} can't be run`;
    return env.POLICYLOOP_PYTHON === undefined
      ? missingPart('Python', message, `${needText}; install Python, or set POLICYLOOP_PYTHON`)
      : brokenFinding('Python', message, 'set POLICYLOOP_PYTHON to a Python interpreter');
  }
}
