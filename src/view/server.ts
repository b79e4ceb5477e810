/** The server of the live view, which shows runs and training runs to browsers on this machine. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, UserError } from '../base/errors.js';
import { safeLine } from '../base/terminal-text.js';
import type { LocatedItem, ScanRoot } from '../runs/listing/scan.js';
import { pageData } from '../web/page.js';
import { stopItem, tagItems, type ViewAction } from './actions.js';
import { requireToken } from './admission.js';
import { assets, contentCsp, emptyPage, pictureCsp, type ServedFile } from './assets.js';
import { comparisonFor, meansByGroup } from './comparison.js';
import { HttpError, requireLocal, requireMethod, sendJson, startHttp } from './http.js';
import { LiveItems, maxKeys, maxWatchers } from './live.js';
import { pageOf, type StudyPageBuilders } from './pages.js';
import { configKeys, readAhead } from './run-data.js';
import { searchItems } from './search.js';
import { episodeSvg, iterationPage } from './shown-run.js';

export interface ViewOptions {
  /** Port number; 0 for any free port. */
  readonly port: number;
  readonly roots: readonly ScanRoot[];
  /** Name of the directory to show. */
  readonly directoryName: string;
  /** A monotonic clock. */
  readonly milliseconds: () => number;
  readonly note: (text: string) => void;
  readonly pages: StudyPageBuilders;
  /** Token that browsers must send. */
  readonly token: string;
}

export interface RunningView {
  /** URL of the view, including the token. */
  readonly url: string;
  close(): Promise<void>;
}

/** Time limit of a search, in milliseconds. */
const searchMs = 5000;

/** @throws UserError if the port can't be used */
export async function startView(options: ViewOptions): Promise<RunningView> {
  const live = new LiveItems(options.roots, options.milliseconds);
  const state = { live, options };
  const server = await startHttp(options.port, async (request, response, port) => {
    try {
      await handleRequest(request, response, state, port);
    } catch (error) {
      sendError(request, response, error, options);
    }
  });
  return {
    url: `${server.url}/?token=${options.token}`,
    close() {
      live.close();
      return server.close();
    },
  };
}

interface ServerState {
  readonly live: LiveItems;
  readonly options: ViewOptions;
}

/** Headers of all responses. */
const commonHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
  'content-security-policy': contentCsp,
} as const;

const actions: Readonly<Record<string, ViewAction>> = { '/api/stop': stopItem, '/api/tag': tagItems };

async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  state: ServerState,
  port: number,
): Promise<void> {
  for (const [name, value] of Object.entries(commonHeaders)) response.setHeader(name, value);
  const query = new URLSearchParams((request.url ?? '').split('#', 1)[0]!.split('?').slice(1).join('?'));
  const isRead = ['GET', 'HEAD'].includes(request.method ?? '');
  // Other sites may link to pages, because pages show nothing without the token.
  const path = requireLocal(request, port, (target) => isRead && isPage(target));
  if (isRead && isPage(path)) return send(response, emptyPage);
  const asset = assets[path];
  if (asset !== undefined && request.method === 'GET') return send(response, asset);
  requireToken(request, state.options.token);
  const { [path]: action } = actions;
  requireMethod(request, ...(action ? ['POST'] : ['GET', 'HEAD']));
  const apiRequest = { ...state, query };
  if (action) return sendJson(response, await action(request, state.live));
  if (path === '/api/events') return watch(response, apiRequest);
  if (path === '/api/episode') return send(response, await episodeIn(apiRequest));
  const { [path]: handler } = handlers;
  if (handler === undefined) throw new HttpError(404, `${path} not found`);
  sendJson(response, await handler(apiRequest));
}

const isPage = (path: string) => /^\/(?:|of\/.*|compare|search)$/s.test(path);

interface ApiRequest extends ServerState {
  readonly query: URLSearchParams;
}

async function watch(response: ServerResponse, { live, query }: ApiRequest): Promise<void> {
  const keys = query.getAll('key');
  if (live.watchers >= maxWatchers)
    throw new HttpError(503, `${maxWatchers} pages are already open, which is the maximum`);
  if (keys.length > maxKeys) throw new HttpError(400, `a list can show at most ${maxKeys} config keys`);
  if (keys.length > 0) await readAhead(live.locatedItems());
  live.watch(response, query.get('of') ?? undefined, keys);
}

/** Handlers of JSON requests, by path. */
const handlers: Readonly<Record<string, (request: ApiRequest) => unknown>> = {
  '/api/place': ({ options }) => ({ place: options.directoryName }),
  '/api/keys': async ({ live }) => configKeys(await readAhead(live.locatedItems())),
  '/api/groups': async ({ live, query }) => meansByGroup(await readAhead(live.locatedItems()), query),
  '/api/compare': async ({ live, query }) => pageData(await comparisonFor(live.locatedItems(), query)),
  async '/api/page'(request) {
    const place = requestedItem(request);
    const { kind, name } = place.item;
    const iteration = wholeNumber(request.query, 'iteration', 0);
    if (iteration === undefined) return pageData(await pageOf(place, request.options.pages));
    if (kind !== 'run') throw new HttpError(400, `${name} has no iterations`);
    return pageData(await iterationPage(name, place.path, iteration));
  },
  async '/api/search'({ live, options: { milliseconds: clock }, query }) {
    const text = query.get('q') ?? '';
    if (text.trim() === '' || text.length > 200)
      throw new HttpError(400, 'the text to search for must have 1 to 200 characters');
    const namedItems = query.getAll('of').map((name) => live.locate(name));
    const isSearched = ({ item }: LocatedItem) => ['run', 'play'].includes(item.kind) && !item.fault;
    const searchedItems = namedItems.length > 0 ? namedItems : live.locatedItems().filter(isSearched);
    return searchItems(text, searchedItems, { clock, until: clock() + searchMs });
  },
};

async function episodeIn(request: ApiRequest): Promise<ServedFile> {
  const number = (key: string, min: number) => wholeNumber(request.query, key, min) ?? min;
  const body = await episodeSvg(requestedItem(request).path, {
    iteration: number('iteration', 0),
    candidate: number('candidate', 1),
    episode: number('episode', 1),
  });
  return { type: 'image/svg+xml', body, csp: pictureCsp };
}

function requestedItem({ live, query }: ApiRequest): LocatedItem {
  const name = query.get('of');
  if (name === null) throw new HttpError(400, 'the address must name a run, training run or study');
  return live.locate(name);
}

function wholeNumber(query: URLSearchParams, key: string, min: number): number | undefined {
  const text = query.get(key);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new HttpError(400, `${key} must be an integer of at least ${min}`);
}

function send(response: ServerResponse, { body, csp = contentCsp, type }: ServedFile): void {
  response.setHeader('content-security-policy', csp);
  response.writeHead(200, { 'content-type': type }).end(typeof body === 'function' ? body() : body);
}

function sendError(
  { headers }: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  { note }: ViewOptions,
): void {
  if (response.destroyed) return;
  if (response.headersSent) return void response.destroy();
  const httpError =
    error instanceof HttpError
      ? error
      : error instanceof UserError
        ? new HttpError(422, error.message)
        : new HttpError(500, messageOf(error));
  if (httpError.status === 500) note(safeLine(`warning: ${httpError.message}`));
  // The browser shows this response to the user, so it is plain text.
  if (headers.accept?.includes('text/html')) {
    const type = { 'content-type': 'text/plain; charset=utf-8' };
    response.writeHead(httpError.status, { ...type, ...httpError.headers }).end(`${httpError.message}\n`);
  } else sendJson(response, { error: { message: httpError.message } }, httpError.status, httpError.headers);
}
