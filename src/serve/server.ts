/** An OpenAI-compatible API for a local model, for programs on this machine. */
import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onAbort } from '../base/abortable.js';
import type { CommandContext } from '../base/context.js';
import { redact } from '../base/errors.js';
import { version } from '../base/package.js';
import { harmlessLine } from '../base/terminal-text.js';
import { plural } from '../format/numbers.js';
import { localContext, openLocalModels } from '../models/local/process/local-model.js';
import type { LocalConfig } from '../models/local/settings.js';
import { createAdmission, type Endpoint } from './admission.js';
import { chatEndpoint } from './chat-completions.js';
import { completionsEndpoint } from './completions.js';
import { embeddingsEndpoint } from './embeddings.js';
import {
  type Address,
  type HttpError,
  httpErrorOf,
  notFound,
  requestLine,
  requireLocal,
  requireMethod,
  sendJson,
  startHttp,
} from './http.js';
import { responsesEndpoint } from './responses.js';
import { type ModelService, type ServedModel, unknownModel } from './service.js';

/**
 * Serves a loaded model.
 * @returns the API's base URL; `finish` completes pending requests, `abort` stops them
 * @throws UserError if the server can't listen on the address
 */
export async function startServer(options: ModelService & Address) {
  const stop = new AbortController();
  const admit = createAdmission();
  const endpoints: Readonly<Record<string, Endpoint>> = {
    '/v1/chat/completions': chatEndpoint(options),
    '/v1/completions': completionsEndpoint(options),
    '/v1/embeddings': embeddingsEndpoint(options),
    '/v1/responses': responsesEndpoint(options),
  };

  /** @returns a summary for the log */
  async function answer(request: IncomingMessage, response: ServerResponse, port: number): Promise<string> {
    const path = requireLocal(request, port);
    const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path] : undefined;
    if (endpoint !== undefined) {
      requireMethod(request, 'POST');
      return admit(request, response, stop.signal, endpoint);
    }
    const body = bodyAt(path, options.model);
    requireMethod(request, 'GET', 'HEAD');
    sendJson(response, body);
    return '200';
  }

  const server = await startHttp(options, async (request, response, port) => {
    const started = performance.now();
    response.setHeader('x-request-id', `req_${randomUUID()}`);
    const answered = answer(request, response, port);
    const remark = await answered.catch((error: unknown) => fail(response, httpErrorOf(error)));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    options.note(safe(request, `${requestLine(request)} ${remark} (${seconds} s)`));
  });
  return {
    url: `${server.url}/v1`,
    finish: server.finish,
    abort() {
      stop.abort();
      // Wait until the error responses have been sent.
      setImmediate(server.abort);
    },
  };
}

function bodyAt(path: string, model: ModelService['model']): object {
  if (path === '/health') return { status: 'ok' };
  if (path === '/props') return properties(model);
  if (path === '/v1/models')
    return { object: 'list', data: model.served.map((served) => modelObject(served, model)) };
  if (!path.startsWith(modelPath)) throw notFound(`${path} not found`);
  return modelObject(namedModel(path.slice(modelPath.length), model), model);
}

/** The properties of llama.cpp's server that this server also has. */
const properties = ({ contextTokens, path, served, slots }: ModelService['model']) => ({
  default_generation_settings: { n_ctx: contextTokens },
  total_slots: slots,
  model_alias: served[0].name,
  model_path: path,
  modalities: { vision: false, audio: false },
  build_info: `policyloop ${version()}`,
});

/** Hides the client's key. This server doesn't need a key, so it is probably the key of another server. */
function safe({ headers }: IncomingMessage, text: string): string {
  const sent = [headers.authorization, headers['x-api-key'], headers['api-key']].flat();
  const keys = sent.flatMap((value) => (value === undefined ? [] : [value, value.replace(/^\S+\s+/, '')]));
  return harmlessLine(redact(text, keys));
}

const modelPath = '/v1/models/';

/** @param written URL-encoded name; clients may or may not encode the slash in owner/model */
function namedModel(written: string, { served }: ModelService['model']): ServedModel {
  const found = served.find(({ name }) =>
    [encodeURIComponent(name), name.split('/').map(encodeURIComponent).join('/')].includes(written),
  );
  if (found === undefined) throw unknownModel(written, served);
  return found;
}

/** A model in vLLM's format, with an adapter's base as `parent`; `meta` follows llama.cpp. */
function modelObject({ name }: ServedModel, model: ModelService['model']) {
  const { contextTokens, created, served, trainedTokens } = model;
  const base = served[0].name;
  return {
    id: name,
    object: 'model',
    created,
    owned_by: 'local',
    parent: name === base ? null : base,
    max_model_len: contextTokens,
    meta: { n_ctx: contextTokens, n_ctx_train: trainedTokens },
  };
}

function fail(response: ServerResponse, error: HttpError): string {
  if (response.destroyed) return 'aborted by the client';
  if (response.headersSent) response.end(`data: ${JSON.stringify(error.body)}\n\n`);
  else sendJson(response, error.body, error.status, error.headers);
  return `${error.status} ${error.message}`;
}

export interface NamedAdapter {
  readonly name: string;
  readonly adapter: string;
}

export interface ServedModels extends Address {
  readonly settings: LocalConfig;
  /** Name that requests use for the base model. */
  readonly name: string;
  readonly adapters: readonly NamedAdapter[];
}

export interface Ready {
  readonly url: string;
  readonly model: string;
  readonly adapters: readonly string[];
  readonly device: string;
  readonly threads: number;
  readonly contextTokens: number;
}

/** Serves until `stop.finish`, then completes pending requests, unless `stop.abort` cancels them. */
export async function serveModels(
  { settings, name, adapters, host, port }: ServedModels,
  { now, note, stop }: Pick<CommandContext, 'now' | 'note' | 'stop'>,
  onReady: (ready: Ready) => void,
): Promise<void> {
  const models = openLocalModels(
    settings,
    adapters.map(({ adapter }) => adapter),
  );
  try {
    note(`loading ${name} …`);
    const loaded = await Promise.race([models.load(), aborted(stop.finish)]);
    if (loaded === undefined) return;
    const { device, threads, contextTokens } = loaded;
    const others = adapters.map((one) => ({ name: one.name, model: models.model(one.adapter) }));
    const served = [{ name, model: models.model() }, ...others] as const;
    const model = {
      ...{ served, contextTokens, path: settings.path, slots: settings.batch ?? 1 },
      created: Math.floor(now().getTime() / 1000),
      trainedTokens: localContext({ ...settings, contextTokens: undefined }),
      fingerprint: fingerprintOf([version(), settings, adapters, device, threads]),
    };
    const server = await startServer({ host, port, model, now, note });
    const names = adapters.map((one) => one.name);
    note(
      `${name} on ${device}, ${plural(threads, 'thread')}, ${contextTokens} context tokens` +
        (names.length === 0 ? '' : `; with adapters: ${names.join(', ')}`),
    );
    onReady({ url: server.url, model: name, adapters: names, device, threads, contextTokens });
    await aborted(stop.finish);
    const finished = server.finish();
    await Promise.race([finished, aborted(stop.abort)]);
    server.abort();
    await finished;
  } finally {
    await models.close();
  }
}

const fingerprintOf = (parts: readonly unknown[]): string =>
  `fp_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 10)}`;

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((done) => {
    onAbort(signal, () => done(undefined));
  });
}
