/** Downloads Hugging Face models into the cache, and removes models that policyloop downloaded. */
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { downloadFileToCacheDir, HubApiError, listFiles, modelInfo } from '@huggingface/hub';
import { z } from 'zod';
import { messageOf, redact, UserError } from '../../../base/errors.js';
import { replaceFile } from '../../../base/files/files.js';
import { parseJson } from '../../../base/files/json-depth.js';
import { requireShortNames } from '../../../base/files/regular-file.js';
import { type HfReference, hfCache, hfScheme, parseHfReference, repositoryFolder } from './hf-cache.js';
import type { Variables } from './ollama-store.js';

export interface DownloadHooks {
  /** Called with the total size in bytes and the number of the files to download. Files in the cache don't count. */
  readonly onStart?: (bytes: number, files: number) => void;
  readonly onBytes?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

/** Files used to load a model, apart from its weights. */
const besides =
  /^(config|generation_config|tokenizer|tokenizer_config|chat_template|model\.safetensors\.index)\.json$|^chat_template\.jinja$|^tokenizer\.model$/;

/** Downloads a model, and returns its directory or GGUF file. @throws UserError, or the signal's reason if it aborts */
export async function pullModel(
  reference: string,
  env: Variables,
  hooks: DownloadHooks = {},
): Promise<string> {
  const parsed = parseHfReference(reference);
  refuseOffline(reference, env);
  const folder = repositoryFolder(hfCache(env), parsed.repository);
  const named = path.join(path.basename(folder), parsed.revision, parsed.file ?? '');
  requireShortNames(named, { field: 'model' });
  const arrived = { bytes: 0 };
  const hub = hubOf(env, hooks, (bytes) => {
    arrived.bytes += bytes;
    hooks.onBytes?.(arrived.bytes);
  });
  try {
    const { repository: name, revision } = parsed;
    const { sha } = await modelInfo({ ...hub, name, revision, additionalFields: ['sha'] });
    const listed = [];
    for await (const entry of listFiles({ ...hub, repo: name, revision: sha })) {
      listed.push(entry);
      if (listed.length > mostFiles)
        throw strange(env, endpointOf(env), `it lists more than ${mostFiles} files`);
    }
    const chosen = filesOf(parsed, listed);
    const snapshot = path.join(folder, 'snapshots', sha);
    const absent = chosen.filter((file) => !existsSync(path.join(snapshot, file.path)));
    const total = absent.reduce((sum, { size }) => sum + size, 0);
    hooks.onStart?.(total, absent.length);
    mkdirSync(path.join(folder, 'refs', path.dirname(revision)), { recursive: true });
    for (const file of absent) await quietly(() => download(name, sha, file.path, env, hub));
    if (revision !== sha) replaceFile(path.join(folder, 'refs', revision), sha);
    return parsed.file === undefined ? snapshot : path.join(snapshot, chosen[0]!.path);
  } catch (error) {
    hooks.signal?.throwIfAborted();
    throw error instanceof UserError ? error : unreachable(reference, env, error);
  }
}

const download = (repo: string, revision: string, file: string, env: Variables, hub: Hub) =>
  downloadFileToCacheDir({ ...hub, repo, revision, path: file, cacheDir: hfCache(env) });

interface Hub {
  readonly hubUrl: string;
  readonly accessToken?: string;
  readonly fetch: typeof fetch;
}

/** Uses the endpoint and token from huggingface_hub's variables, and counts the bytes of downloaded files. */
function hubOf(env: Variables, { signal }: DownloadHooks, count: (bytes: number) => void): Hub {
  return {
    hubUrl: endpointOf(env),
    ...(env.HF_TOKEN && { accessToken: env.HF_TOKEN }),
    async fetch(input, init) {
      const response = await fetch(input, { ...init, ...(signal && { signal }) });
      // `input` is the URL before any redirects.
      if (response.ok && /\/api\/models\//.test(urlOf(input))) return checkedAnswer(env, response);
      if (response.body === null || !/\/resolve\//.test(response.url)) return response;
      const counted = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          count(chunk.length);
          controller.enqueue(chunk);
        },
      });
      return withBody(response, response.body.pipeThrough(counted));
    },
  };
}

const urlOf = (input: string | URL | Request) => (input instanceof Request ? input.url : String(input));

/** A SHA-1 or SHA-256 in hexadecimal. */
const hash = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const commit = z.string().regex(/^[0-9a-f]{40}$/);
const repositorySchema = z.looseObject({ sha: commit });
const entrySchema = z.looseObject({
  path: z.string(),
  type: z.string(),
  size: z.int().min(0),
  oid: hash.nullish(),
  xetHash: hash.nullish(),
  lfs: z.looseObject({ oid: hash }).nullish(),
  lastCommit: z.looseObject({ id: commit }).nullish(),
});
const answerSchema = z.union([z.array(entrySchema), repositorySchema]);

/** Upper bounds on the bytes in a page of a file list, and on the number of files in a repository. */
const mostBytes = 64 * 2 ** 20;
const mostFiles = 1_000_000;

/** Checks a response from the hub. Its ids become file names, so each must be a hash. @throws UserError if invalid */
async function checkedAnswer(env: Variables, response: Response): Promise<Response> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    length += part.length;
    if (length > mostBytes) throw strange(env, response.url, `it is longer than ${mostBytes} bytes`);
  }
  const text = Buffer.concat(parts).toString('utf8');
  try {
    answerSchema.parse(parseJson(text));
  } catch {
    throw strange(
      env,
      response.url,
      'it is not JSON, an id in it is not a hash, or a file has no name or size',
    );
  }
  return withBody(response, text);
}

function withBody(
  { headers, status, statusText, url }: Response,
  body: string | ReadableStream<Uint8Array>,
): Response {
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}

const endpointOf = ({ HF_ENDPOINT: given }: Variables): string =>
  (given || 'https://huggingface.co').replace(/\/+$/, '');

const strange = ({ HF_ENDPOINT: given }: Variables, url: string, what: string) =>
  new UserError({
    field: given ? 'HF_ENDPOINT' : 'model',
    value: url,
    message: `the model hub sent an unusable response: ${what}`,
    hint: given
      ? 'unset HF_ENDPOINT, or set it to a server that you trust'
      : 'check whether a proxy or firewall replaces responses, or set HF_ENDPOINT to a server that you trust',
  });

type Listed = { readonly path: string; readonly size: number; readonly type: string };

/** The weights and related files at the top level of the repository, or all parts of one GGUF file. */
function filesOf({ repository, file }: HfReference, listed: readonly Listed[]): readonly Listed[] {
  const files = listed.filter(({ type }) => type === 'file');
  const split = file && /^(.*-)\d{5}(-of-\d{5}\.gguf)$/.exec(file);
  const chosen = files.filter(({ path: name }) => {
    if (file === undefined) return besides.test(name) || /^model(-\d+-of-\d+)?\.safetensors$/.test(name);
    if (name === file || !split) return name === file;
    const [, start, end] = split;
    return (
      name.startsWith(start!) &&
      name.endsWith(end!) &&
      /^\d{5}$/.test(name.slice(start!.length, -end!.length))
    );
  });
  if (chosen.some(({ path: name }) => /\.(safetensors|gguf)$/.test(name))) return chosen;
  const ggufs = files.filter(({ path: name }) => /\.gguf$/i.test(name)).map(({ path: name }) => name);
  throw new UserError({
    field: 'model',
    value: `${hfScheme}${repository}${file === undefined ? '' : `:${file}`}`,
    message:
      file === undefined
        ? 'this repository has neither model.safetensors nor its shards'
        : 'the repository has no such file',
    alternatives: ggufs.slice(0, 12).map((name) => `${hfScheme}${repository}:${name}`),
  });
}

function refuseOffline(reference: string, { HF_HUB_OFFLINE: offline }: Variables): void {
  if (offline === undefined || /^(0|false|no|off)?$/i.test(offline)) return;
  throw new UserError({
    field: 'HF_HUB_OFFLINE',
    value: offline,
    message: `can’t pull hf:${reference}, because this variable turns off downloads`,
    hint: 'unset it',
  });
}

function unreachable(reference: string, env: Variables, error: unknown): UserError {
  const status = error instanceof HubApiError ? error.statusCode : undefined;
  const endpoint = endpointOf(env);
  const place = { field: 'model', value: `${hfScheme}${reference}` };
  if (status === 401 || status === 403)
    return new UserError({
      ...place,
      message: `${endpoint} restricts access to this model (HTTP ${status}), or the model doesn’t exist`,
      hint: 'check its name, accept the licence on its page, and set HF_TOKEN to your token',
    });
  if (status === 404)
    return new UserError({ ...place, message: `${endpoint} has no such model, revision or file` });
  const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return new UserError({
    ...place,
    message: redact(`the download failed: ${messageOf(error)}${cause}`, [env.HF_TOKEN ?? '']),
    hint: 'try again (complete files are kept), or set HF_ENDPOINT to another server',
  });
}

/** Runs `work` without the library's console output. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { debug } = console;
  console.debug = () => undefined;
  try {
    return await work();
  } finally {
    console.debug = debug;
  }
}
