/** An OpenAI-compatible API for a local model, for programs on this machine. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onAbort } from '../base/abortable.js';
import type { CommandContext } from '../base/context.js';
import { redact } from '../base/errors.js';
import { harmlessLine } from '../base/terminal-text.js';
import { plural } from '../format/numbers.js';
import { openLocalModels } from '../models/local/process/local-model.js';
import type { LocalConfig } from '../models/local/settings.js';
import { type ChatService, createChatHandler } from './chat-completions.js';
import { type ServedModel, unknownModel } from './chat-request.js';
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

/**
 * Serves a loaded model.
 * @returns the API's base URL; `finish` completes pending requests, `abort` stops them
 * @throws UserError if the server can't listen on the address
 */
export async function startServer(options: ChatService & Address) {
  const stop = new AbortController();
  const chat = createChatHandler(options);
  const server = await startHttp(options, async (request, response, port) => {
    const started = performance.now();
    const answered = answer(request, response, port, options.model, () =>
      chat(request, response, stop.signal),
    );
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

/** @returns the outcome, as text for the log */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
  model: ChatService['model'],
  chat: () => Promise<string>,
): Promise<string> {
  const path = requireLocal(request, port);
  if (path === '/v1/chat/completions') {
    requireMethod(request, 'POST');
    return chat();
  }
  const body = bodyAt(path, model);
  requireMethod(request, 'GET', 'HEAD');
  sendJson(response, body);
  return '200';
}

function bodyAt(path: string, model: ChatService['model']): object {
  if (path === '/health') return { status: 'ok' };
  if (path === '/v1/models')
    return { object: 'list', data: model.served.map((served) => modelObject(served, model)) };
  if (!path.startsWith(modelPath)) throw notFound(`${path} not found`);
  return modelObject(namedModel(path.slice(modelPath.length), model), model);
}

/** Hides the client's key. This server doesn't need a key, so it is probably the key of another server. */
function safe({ headers }: IncomingMessage, text: string): string {
  const sent = [headers.authorization, headers['x-api-key'], headers['api-key']].flat();
  const keys = sent.flatMap((value) => (value === undefined ? [] : [value, value.replace(/^\S+\s+/, '')]));
  return harmlessLine(redact(text, keys));
}

const modelPath = '/v1/models/';

/** @param written URL-encoded name; clients may or may not encode the slash in owner/model */
function namedModel(written: string, { served }: ChatService['model']): ServedModel {
  const found = served.find(({ name }) =>
    [encodeURIComponent(name), name.split('/').map(encodeURIComponent).join('/')].includes(written),
  );
  if (found === undefined) throw unknownModel(written, served);
  return found;
}

/** As in vLLM, an adapter's `parent` is its base model. */
function modelObject({ name }: ServedModel, { created, served }: ChatService['model']) {
  const base = served[0].name;
  const parent = name === base ? null : base;
  return { id: name, object: 'model', created, owned_by: 'local', parent };
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

/** Serves until the first signal; finishes pending requests until the second. */
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
    const served = adapters.map((one) => ({ name: one.name, model: models.model(one.adapter) }));
    const created = Math.floor(now().getTime() / 1000);
    const model = { served: [{ name, model: models.model() }, ...served] as const, created };
    const server = await startServer({ host, port, model, now, note });
    const { device, threads, contextTokens } = loaded;
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

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((done) => {
    onAbort(signal, () => done(undefined));
  });
}
