/** Downloads models of Hugging Face into its cache, and removes those that it downloaded. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { downloadFileToCacheDir, HubApiError, listFiles, modelInfo } from '@huggingface/hub';
import { messageOf, UserError } from '../../../base/errors.js';
import { type HfReference, hfCache, hfScheme, parseHfReference, repositoryFolder } from './hf-cache.js';
import type { Variables } from './ollama-store.js';

export interface DownloadHooks {
  /** Files to be downloaded and their bytes together; files of the cache don't count. */
  readonly onStart?: (bytes: number, files: number) => void;
  /** Bytes that have arrived. */
  readonly onBytes?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** What tells a repository that was downloaded here from those of other programs. */
const mark = '.policyloop-pulled';

/** Files beside the weights that a model is read from. */
const besides =
  /^(config|generation_config|tokenizer|tokenizer_config|chat_template|model\.safetensors\.index)\.json$|^chat_template\.jinja$|^tokenizer\.model$/;

/**
 * @param reference `ORG/NAME[@REVISION][:FILE.gguf]`
 * @returns the directory or the GGUF file in the cache
 * @throws UserError when there is no such model, it can't be reached, or `HF_HUB_OFFLINE` is set; the reason of
 * `hooks.signal`
 */
export async function pullModel(
  reference: string,
  env: Variables,
  hooks: DownloadHooks = {},
): Promise<string> {
  const parsed = parseHfReference(reference);
  refuseOffline(reference, env);
  const folder = repositoryFolder(hfCache(env), parsed.repository);
  const arrived = { bytes: 0 };
  const hub = hubOf(env, hooks, (bytes) => {
    arrived.bytes += bytes;
    hooks.onBytes?.(arrived.bytes);
  });
  try {
    const { repository: name, revision } = parsed;
    const { sha } = await modelInfo({ ...hub, name, revision, additionalFields: ['sha'] });
    const listed = [];
    for await (const entry of listFiles({ ...hub, repo: name, revision: sha })) listed.push(entry);
    const chosen = filesOf(parsed, listed);
    const snapshot = path.join(folder, 'snapshots', sha);
    const absent = chosen.filter((file) => !existsSync(path.join(snapshot, file.path)));
    const total = absent.reduce((sum, { size }) => sum + size, 0);
    const isOurs = !existsSync(folder);
    hooks.onStart?.(total, absent.length);
    mkdirSync(path.join(folder, 'refs', path.dirname(revision)), { recursive: true });
    if (isOurs) writeFileSync(path.join(folder, mark), '');
    for (const file of absent) await quietly(() => download(name, sha, file.path, env, hub));
    if (revision !== sha) writeFileSync(path.join(folder, 'refs', revision), sha);
    return parsed.file === undefined ? snapshot : path.join(snapshot, chosen[0]!.path);
  } catch (error) {
    hooks.signal?.throwIfAborted();
    throw error instanceof UserError ? error : unreachable(reference, env, error);
  }
}

const download = (repo: string, revision: string, file: string, env: Variables, hub: Hub) =>
  downloadFileToCacheDir({ ...hub, repo, revision, path: file, cacheDir: hfCache(env) });

/**
 * Removes a repository from the cache.
 * @returns its folder
 * @throws UserError when it is not there, or was downloaded by another program
 */
export function removeModel(reference: string, env: Variables): string {
  const { repository } = parseHfReference(reference);
  const folder = repositoryFolder(hfCache(env), repository);
  if (existsSync(path.join(folder, mark))) {
    rmSync(folder, { recursive: true });
    return folder;
  }
  throw new UserError({
    field: 'model',
    value: `${hfScheme}${reference}`,
    message: existsSync(folder)
      ? 'another program downloaded this model, and may need it'
      : `the cache holds no such model (${hfCache(env)})`,
    remedy: existsSync(folder)
      ? `remove it by hand: ${folder}`
      : 'list what is there: `policyloop models list`',
  });
}

interface Hub {
  readonly hubUrl?: string;
  readonly accessToken?: string;
  readonly fetch: typeof fetch;
}

/** Endpoint and token by huggingface_hub's variables; each answer's bytes are counted. */
function hubOf(env: Variables, { signal }: DownloadHooks, count: (bytes: number) => void): Hub {
  return {
    ...(env.HF_ENDPOINT && { hubUrl: env.HF_ENDPOINT.replace(/\/+$/, '') }),
    ...(env.HF_TOKEN && { accessToken: env.HF_TOKEN }),
    async fetch(input, init) {
      const response = await fetch(input, { ...init, ...(signal && { signal }) });
      if (response.body === null || !/\/resolve\//.test(response.url)) return response;
      const counted = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          count(chunk.length);
          controller.enqueue(chunk);
        },
      });
      const { status, statusText, headers } = response;
      const body = response.body.pipeThrough(counted);
      return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', {
        value: response.url,
      });
    },
  };
}

type Listed = { readonly path: string; readonly size: number; readonly type: string };

/** Weights and what is read beside them, at the top of the repository; or the parts of one GGUF file. */
function filesOf({ repository, file }: HfReference, listed: readonly Listed[]): readonly Listed[] {
  const files = listed.filter(({ type }) => type === 'file');
  const split = file && /^(.*)-\d{5}-of-(\d{5})\.gguf$/.exec(file);
  const chosen = files.filter(({ path: name }) => {
    if (file === undefined) return besides.test(name) || /^model(-\d+-of-\d+)?\.safetensors$/.test(name);
    return (
      name === file || (split && name.startsWith(`${split[1]}-`) && name.endsWith(`-of-${split[2]}.gguf`))
    );
  });
  if (chosen.some(({ path: name }) => /\.(safetensors|gguf)$/.test(name))) return chosen;
  const ggufs = files.filter(({ path: name }) => /\.gguf$/i.test(name)).map(({ path: name }) => name);
  throw new UserError({
    field: 'model',
    value: `${hfScheme}${repository}${file === undefined ? '' : `:${file}`}`,
    message: file === undefined ? 'this repository holds no safetensors weights' : 'it holds no such file',
    alternatives: ggufs.slice(0, 12).map((name) => `${hfScheme}${repository}:${name}`),
  });
}

function refuseOffline(reference: string, { HF_HUB_OFFLINE: offline }: Variables): void {
  if (offline === undefined || /^(0|false|no|off)?$/i.test(offline)) return;
  throw new UserError({
    field: 'HF_HUB_OFFLINE',
    value: offline,
    message: `nothing is downloaded while this is set, so hf:${reference} can’t be pulled`,
    remedy: 'unset it',
  });
}

function unreachable(reference: string, env: Variables, error: unknown): UserError {
  const status = error instanceof HubApiError ? error.statusCode : undefined;
  const endpoint = env.HF_ENDPOINT ?? 'https://huggingface.co';
  const place = { field: 'model', value: `${hfScheme}${reference}` };
  if (status === 401 || status === 403)
    return new UserError({
      ...place,
      message: `${endpoint} gives this model to some users only (HTTP ${status}), or there is no such model`,
      remedy: 'accept its licence on its page, and set HF_TOKEN to a token of yours',
    });
  if (status === 404)
    return new UserError({ ...place, message: `${endpoint} knows no such model, revision or file` });
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return new UserError({
    ...place,
    message: `the download failed: ${messageOf(error)}${cause}`,
    remedy: 'try again: what has arrived whole is kept; HF_ENDPOINT names another server',
  });
}

/** The library writes what it does to the console. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { debug } = console;
  console.debug = () => undefined;
  try {
    return await work();
  } finally {
    console.debug = debug;
  }
}
