/** The server of the live view, which shows runs and training runs to browsers on this machine. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, UserError } from '../base/errors.js';
import { safeLine } from '../base/terminal-text.js';
import type { LocatedItem, ScanRoot } from '../runs/listing/scan.js';
import { pageData } from '../web/page.js';
import { stopItem, tagItems, type ViewAction } from './actions.js';
import { requireToken } from './admission.js';
import { assets, contentCsp, emptyPage, pictureCsp, type ServedFile } from './assets.js';
import { comparisonFor, groupFigures } from './comparison.js';
import { HttpError, requireLocal, requireMethod, sendJson, startHttp } from './http.js';
import { LiveItems, maxKeys, maxWatchers } from './live.js';
import { pageOf, type StudyPages } from './pages.js';
import { configKeys, readAhead } from './run-data.js';
import { searchItems } from './search.js';
import { episodeSvg, iterationPage } from './shown-run.js';

export interface ViewOptions {
  /** Port number; 0 for any free port. */
  readonly port: number;
  readonly roots: readonly ScanRoot[];
  /** Name of the directory to show. */
  readonly place: string;
  /** A monotonic clock. */
  readonly milliseconds: () => number;
  readonly note: (text: string) => void;
  readonly pages: StudyPages;
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
  const site = { live, options };
  const server = await startHttp(options.port, async (request, response, port) => {
    try {
      await handleRequest(request, response, site, port);
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
  site: ServerState,
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
  requireToken(request, site.options.token);
  const { [path]: act } = actions;
  requireMethod(request, ...(act ? ['POST'] : ['GET', 'HEAD']));
  const apiRequest = { ...site, query };
  if (act) return sendJson(response, await act(request, site.live));
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
  if (keys.length > 0) await readAhead(live.places());
  live.watch(response, query.get('of') ?? undefined, keys);
}

/** Handlers of JSON requests, by path. */
const handlers: Readonly<Record<string, (asked: ApiRequest) => unknown>> = {
  '/api/place': ({ options: { place } }) => ({ place }),
  '/api/keys': async ({ live }) => configKeys(await readAhead(live.places())),
  '/api/groups': async ({ live, query }) => groupFigures(await readAhead(live.places()), query),
  '/api/compare': async ({ live, query }) => pageData(await comparisonFor(live.places(), query)),
  async '/api/page'(asked) {
    const place = requestedItem(asked);
    const { kind, name } = place.item;
    const iteration = wholeNumber(asked.query, 'iteration', 0);
    if (iteration === undefined) return pageData(await pageOf(place, asked.options.pages));
    if (kind !== 'run') throw new HttpError(400, `${name} has no iterations`);
    return pageData(await iterationPage(name, place.path, iteration));
  },
  async '/api/search'({ live, options: { milliseconds: clock }, query }) {
    const text = query.get('q') ?? '';
    if (text.trim() === '' || text.length > 200)
      throw new HttpError(400, 'the text to search for must have 1 to 200 characters');
    const named = query.getAll('of').map((name) => live.place(name));
    const isSearched = ({ item }: LocatedItem) => ['run', 'play'].includes(item.kind) && !item.fault;
    const searched = named.length > 0 ? named : live.places().filter(isSearched);
    return searchItems(text, searched, { clock, until: clock() + searchMs });
  },
};

async function episodeIn(asked: ApiRequest): Promise<ServedFile> {
  const number = (key: string, least: number) => wholeNumber(asked.query, key, least) ?? least;
  const body = await episodeSvg(requestedItem(asked).path, {
    iteration: number('iteration', 0),
    candidate: number('candidate', 1),
    episode: number('episode', 1),
  });
  return { type: 'image/svg+xml', body, csp: pictureCsp };
}

function requestedItem({ live, query }: ApiRequest): LocatedItem {
  const name = query.get('of');
  if (name === null) throw new HttpError(400, 'the address must name a run, training run or study');
  return live.place(name);
}

function wholeNumber(query: URLSearchParams, key: string, least: number): number | undefined {
  const given = query.get(key);
  if (given === null || given === '') return undefined;
  const value = Number(given);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new HttpError(400, `${key} must be an integer of at least ${least}`);
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
  const known =
    error instanceof HttpError
      ? error
      : error instanceof UserError
        ? new HttpError(422, error.message)
        : new HttpError(500, messageOf(error));
  if (known.status === 500) note(safeLine(`warning: ${known.message}`));
  // The browser shows this response to the user, so it is plain text.
  if (headers.accept?.includes('text/html')) {
    const type = { 'content-type': 'text/plain; charset=utf-8' };
    response.writeHead(known.status, { ...type, ...known.headers }).end(`${known.message}\n`);
  } else sendJson(response, { error: { message: known.message } }, known.status, known.headers);
}
