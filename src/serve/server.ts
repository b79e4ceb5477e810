/** A local model behind an OpenAI-compatible endpoint, for programs of this machine. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
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
  authority,
  endingOf,
  guardConnections,
  HttpError,
  httpErrorOf,
  type LoopbackHost,
  listen,
  requestTimeoutMs,
  requireLocal,
  requireMethod,
  targetOf,
} from './http.js';

export interface ServerOptions extends ChatService {
  readonly host: LoopbackHost;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface RunningServer {
  /** Base URL of the API, e.g. `http://127.0.0.1:8000/v1`. */
  readonly url: string;
  /** Takes no more requests and waits for those in progress. */
  finish(): Promise<void>;
  /** Ends those in progress. */
  abort(): void;
}

/** @throws UserError when the address can't be listened on */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const stop = new AbortController();
  const chat = createChatHandler(options);
  let port = options.port;
  const limits = { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs };
  const server = createServer(limits, (request, response) => {
    const started = performance.now();
    // The unread rest of a request would break the next one on its connection.
    response.on('finish', () => request.resume());
    const site = { port, model: options.model, chat: () => chat(request, response, stop.signal) };
    answer(request, response, site)
      .then((remark) => {
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        const [path = ''] = (request.url ?? '').split('?', 1);
        options.note(safe(request, `${request.method} ${path} ${remark} (${seconds} s)`));
      })
      // Whatever one request brings about ends its connection alone.
      .catch(() => response.destroy());
  });
  guardConnections(server);
  port = await listen(server, options);
  return {
    url: `http://${authority(options.host, port)}/v1`,
    finish: endingOf(server),
    abort() {
      stop.abort();
      // The error replies to clients are sent by then.
      setImmediate(() => server.closeAllConnections());
    },
  };
}

/** @returns the request's entry in the log */
async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  site: {
    readonly port: number;
    readonly model: ChatService['model'];
    readonly chat: () => Promise<string>;
  },
): Promise<string> {
  const { model } = site;
  try {
    const { path, host } = targetOf(request);
    requireLocal(request, site.port, host);
    switch (path) {
      case '/health':
        requireMethod(request, 'GET', 'HEAD');
        return json(response, { status: 'ok' });
      case '/v1/models':
        requireMethod(request, 'GET', 'HEAD');
        return json(response, {
          object: 'list',
          data: model.served.map((served) => modelObject(served, model)),
        });
      case '/v1/chat/completions':
        requireMethod(request, 'POST');
        return await site.chat();
      default:
        if (!path.startsWith(modelPath))
          throw new HttpError(404, 'not_found_error', `there is nothing at ${path}`);
        requireMethod(request, 'GET', 'HEAD');
        return json(response, modelObject(namedModel(path.slice(modelPath.length), model), model));
    }
  } catch (error) {
    return fail(response, httpErrorOf(error));
  }
}

/** Hides the key that the client sent: no key is needed here, so it may be that of another server. */
function safe({ headers }: IncomingMessage, text: string): string {
  const sent = [headers.authorization, headers['x-api-key'], headers['api-key']].flat();
  const keys = sent.flatMap((value) => (value === undefined ? [] : [value, value.replace(/^\S+\s+/, '')]));
  return harmlessLine(redact(text, keys));
}

const modelPath = '/v1/models/';

/** @param written name as a URL has it; of names such as owner/model, clients write the slash either way */
function namedModel(written: string, { served }: ChatService['model']): ServedModel {
  const found = served.find(({ name }) =>
    [encodeURIComponent(name), name.split('/').map(encodeURIComponent).join('/')].includes(written),
  );
  if (found === undefined) throw unknownModel(written, served);
  return found;
}

/** An adapter names its base as `parent`, as vLLM does. */
function modelObject({ name }: ServedModel, { created, served }: ChatService['model']) {
  const base = served[0].name;
  const parent = name === base ? null : base;
  return { id: name, object: 'model', created, owned_by: 'local', parent };
}

function json(response: ServerResponse, body: object): string {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  return '200';
}

function fail(response: ServerResponse, error: HttpError): string {
  if (response.destroyed) return 'given up by the client';
  if (response.headersSent) {
    response.end(`data: ${JSON.stringify(error.body)}\n\n`);
  } else {
    response
      .writeHead(error.status, { 'content-type': 'application/json', ...error.headers })
      .end(JSON.stringify(error.body));
  }
  return `${error.status} ${error.message}`;
}

export interface NamedAdapter {
  readonly name: string;
  /** Its directory. */
  readonly adapter: string;
}

export interface ServedModels {
  readonly settings: LocalConfig;
  /** Name of the model without an adapter in requests. */
  readonly name: string;
  readonly adapters: readonly NamedAdapter[];
  readonly host: LoopbackHost;
  /** 0: any free one. */
  readonly port: number;
}

/** The properties of a running server. */
export interface Ready {
  readonly url: string;
  readonly model: string;
  readonly adapters: readonly string[];
  readonly device: string;
  readonly threads: number;
  readonly contextTokens: number;
}

/** Serves a local model and its adapters until the first signal; finishes open requests until the second. */
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
    const server = await startServer({
      host,
      port,
      model: {
        served: [{ name, model: models.model() }, ...served],
        created: Math.floor(now().getTime() / 1000),
      },
      now,
      note,
    });
    const { device, threads, contextTokens } = loaded;
    const names = adapters.map((one) => one.name);
    note(
      `${name} on ${device}, ${plural(threads, 'thread')}, ${contextTokens} tokens of context` +
        (names.length === 0 ? '' : `; with adapters: ${names.join(', ')}`),
    );
    onReady({ url: server.url, model: name, adapters: names, device, threads, contextTokens });
    await untilStopped(server, stop);
  } finally {
    await models.close();
  }
}

async function untilStopped(server: RunningServer, { finish, abort }: CommandContext['stop']): Promise<void> {
  await aborted(finish);
  const finished = server.finish();
  await Promise.race([finished, aborted(abort)]);
  server.abort();
  await finished;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((done) => {
    onAbort(signal, () => done(undefined));
  });
}
