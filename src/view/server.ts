/** The live view: pages of runs and training runs, for browsers on this machine. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf, UserError } from '../base/errors.js';
import { harmlessLine } from '../base/terminal-text.js';
import { type Content, render } from '../format/html.js';
import { HourlyUsage } from '../runs/usage/hourly-usage.js';
import {
  type Address,
  badRequest,
  HttpError,
  notFound,
  requireLocal,
  requireMethod,
  sendJson,
  startHttp,
} from '../serve/http.js';
import { readRegularFile } from '../storage/regular-file.js';
import type { Page } from '../web/page.js';
import { admitted, admittedMarkup, requireEntered } from './admission.js';
import { assetAt, contentPolicy, savedPolicy, shell } from './assets.js';
import { callsOf } from './calls-page.js';
import { comparedPage, groupFigures } from './comparison.js';
import { differencesPage, type Wanted } from './differences.js';
import { Items, type Place, type Root, savedPage } from './items.js';
import { Live, mostKeys, mostWatched, mostWatchers } from './live.js';
import { removeFromPage, tagFromPage } from './managing.js';
import { type GivenPages, pageOf } from './pages.js';
import { answerFromPage, questionPicture, shownQuestion, steerFromPage } from './questions.js';
import { configKeys, readAhead } from './run-data.js';
import { search } from './search.js';
import { episodeSvg, iterationPage } from './shown-run.js';
import { subjectOf } from './subject.js';

export interface ViewOptions extends Address {
  readonly roots: readonly Root[];
  /** Returns directories of training runs, which may be below the roots or anywhere else; new ones may appear. */
  readonly registered?: () => readonly Root[];
  /** Name of the directory that is shown. */
  readonly place: string;
  /** A monotonic clock. */
  readonly milliseconds: () => number;
  readonly note: (text: string) => void;
  readonly pages: GivenPages;
  /** Token that browsers must send. */
  readonly token: string;
}

export interface RunningView {
  /** URL of the view, including the token. */
  readonly url: string;
  close(): Promise<void>;
}

/** Time limit of a search, in milliseconds. */
const searchTime = 5000;

/** Maximum size of a saved page, in bytes. */
const largestSaved = 64 * 2 ** 20;

/** @throws UserError if the server can't listen on the address */
export async function startView(options: ViewOptions): Promise<RunningView> {
  const live = new Live(new Items(options.roots, options.registered), options.milliseconds);
  const site = { live, options, usage: new HourlyUsage(options.milliseconds) };
  // Lists, groups and comparisons come soon. If a curve can't be read, the comparison says so.
  setImmediate(() => void readAhead(live.places(), { areCurves: true }).catch(() => undefined));
  const server = await startHttp(options, async (request, response, port) => {
    try {
      await answer(request, response, site, port);
    } catch (error) {
      fail(request, response, error, options);
    }
  });
  return {
    url: `${server.url}/?token=${options.token}`,
    close() {
      live.close();
      const finished = server.finish();
      server.abort();
      return finished;
    },
  };
}

interface Site {
  readonly live: Live;
  readonly usage: HourlyUsage;
  readonly options: ViewOptions;
}

/** Headers of all responses. */
const common = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
} as const;

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  site: Site,
  port: number,
): Promise<void> {
  for (const [name, value] of Object.entries(common)) response.setHeader(name, value);
  response.setHeader('content-security-policy', contentPolicy);
  const query = new URLSearchParams((request.url ?? '').split('#', 1)[0]!.split('?').slice(1).join('?'));
  const isRead = ['GET', 'HEAD'].includes(request.method ?? '');
  // Any site may link to a page: without the token, the page shows nothing.
  const path = requireLocal(request, port, (target) => isRead && isPage(target));
  if (isRead && isPage(path)) return send(response, 'text/html; charset=utf-8', shell());
  const asset = assetAt(path);
  if (asset !== undefined && request.method === 'GET') return send(response, asset.type, asset.body);
  requireEntered(request, site.options.token);
  const take = {
    '/api/steer': steerFromPage,
    '/api/answer': answerFromPage,
    '/api/tag': tagFromPage,
    '/api/remove': removeFromPage,
  }[path];
  requireMethod(request, ...(take ? ['POST'] : ['GET', 'HEAD']));
  if (take) return sendJson(response, await take(request, (name) => placeOf(site, name), site));
  if (path.startsWith('/saved/')) return sendSaved(response, placeOf(site, decoded(path.slice(7))));
  if (path.startsWith('/api/')) return answerApi(path.slice(5), query, response, site);
  throw notFound(`${path} not found`);
}

const isPage = (path: string) => /^\/(?:|of\/.*|calls|compare|diff|search)$/s.test(path);

async function answerApi(
  path: string,
  query: URLSearchParams,
  response: ServerResponse,
  site: Site,
): Promise<void> {
  const { place, token } = site.options;
  switch (path) {
    case 'place':
      return sendJson(response, { place });
    case 'events': {
      const names = query.getAll('of');
      if (names.length > mostWatched) throw badRequest(`a page can follow at most ${mostWatched} runs`, 'of');
      if (site.live.watchers >= mostWatchers)
        throw new HttpError(503, 'server_error', `${mostWatchers} pages are already open`);
      const keys = query.getAll('key');
      if (keys.length > mostKeys) throw badRequest(`a list can show at most ${mostKeys} config keys`, 'key');
      if (keys.length > 0) await readAhead(site.live.places());
      return site.live.watch(response, { names, keys, all: query.has('all') });
    }
    case 'keys':
    case 'groups': {
      const places = site.live.places();
      await readAhead(places);
      return sendJson(response, path === 'keys' ? configKeys(places) : groupFigures(places, query));
    }
    case 'compare':
      return sendPage(
        response,
        token,
        await comparedPage(site.live.places(), query, site.options.milliseconds),
      );
    case 'page': {
      const place = placeIn(site, query);
      const iteration = wholeNumber(query, 'iteration', 0);
      const { name, kind } = place.item;
      if (iteration !== undefined && kind !== 'run')
        throw badRequest(`${name} has no iterations`, 'iteration');
      return sendPage(
        response,
        token,
        iteration === undefined
          ? await pageOf(place, site.live.inside(name), site.options.pages)
          : await iterationPage(name, place.path, iteration),
      );
    }
    case 'course': {
      const place = placeIn(site, query);
      return sendJson(response, subjectOf(place)?.whole() ?? []);
    }
    case 'episode': {
      const place = placeIn(site, query);
      const svg = await episodeSvg(place.path, {
        iteration: wholeNumber(query, 'iteration', 0) ?? 0,
        candidate: wholeNumber(query, 'candidate', 1) ?? 1,
        episode: wholeNumber(query, 'episode', 1) ?? 1,
      });
      // Allow the picture's own styles, but nothing else.
      response.setHeader('content-security-policy', "sandbox; default-src 'none'; style-src 'unsafe-inline'");
      return send(response, 'image/svg+xml', svg);
    }
    case 'question':
      return sendJson(
        response,
        shownQuestion(placeIn(site, query), (address) => admitted(address, token)),
      );
    case 'picture':
      return send(response, 'image/gif', questionPicture(placeIn(site, query), query.get('question')));
    case 'diff':
      return sendPage(
        response,
        token,
        await differencesPage(wantedOf(site, query, 'a'), wantedOf(site, query, 'b')),
      );
    case 'calls':
      return sendPage(response, token, await callsOf(site, query));
    case 'search': {
      const text = query.get('q') ?? '';
      if (text.trim() === '' || text.length > 200) throw badRequest('must have 1 to 200 characters', 'q');
      const names = query.getAll('of');
      const places =
        names.length > 0
          ? names.map((name) => placeOf(site, name))
          : site.live.places().filter(({ item }) => ['run', 'play'].includes(item.kind) && !item.fault);
      const clock = site.options.milliseconds;
      return sendJson(response, await search(text, places, { clock, until: clock() + searchTime }));
    }
    default:
      throw notFound(`/api/${path} not found`);
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest('invalid address');
  }
}

/** Finds an item. Names are never used as paths: only known items are found. */
function placeOf({ live }: Site, name: string): Place {
  const place = live.find(name);
  if (place === undefined) throw notFound(`run ${name} not found`);
  if (place.item.fault !== undefined) throw new HttpError(422, 'invalid_request_error', place.item.fault);
  return place;
}

function placeIn(site: Site, query: URLSearchParams, key = 'of'): Place {
  const name = query.get(key);
  if (name === null) throw badRequest('must name a run or a training run', key);
  return placeOf(site, name);
}

/** Reads `a=NAME` with the optional `aIteration=7` and `aCandidate=2`, which default to the best. */
function wantedOf(site: Site, query: URLSearchParams, key: string): Wanted {
  const iteration = wholeNumber(query, `${key}Iteration`, 0);
  const candidate = wholeNumber(query, `${key}Candidate`, 1);
  const place = placeIn(site, query, key);
  if (place.item.kind !== 'run') throw badRequest(`${place.item.name} isn't a run`, key);
  return {
    place,
    ...(iteration !== undefined && { iteration }),
    ...(candidate !== undefined && { candidate }),
  };
}

function wholeNumber(query: URLSearchParams, key: string, least: number): number | undefined {
  const given = query.get(key);
  if (given === null || given === '') return undefined;
  const value = Number(given);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw badRequest(`must be an integer of at least ${least}`, key);
}

function send(response: ServerResponse, type: string, body: string | Buffer): void {
  response.writeHead(200, { 'content-type': type }).end(body);
}

/** Sends a page's sections as escaped markup. */
function sendPage(
  response: ServerResponse,
  token: string,
  { footer, header, isPartial, keys, sections, title }: Page,
): void {
  const markup = (content: Content) => admittedMarkup(render(content), token);
  const shown = sections.map(({ content, ...rest }) => ({ ...rest, html: markup(content) }));
  const page = { title, header: markup(header), footer: markup(footer), keys, isPartial, sections: shown };
  sendJson(response, page);
}

function sendSaved(response: ServerResponse, { item, path }: Place): void {
  const file = savedPage(path);
  if (file === undefined) throw notFound(`${item.name} has no saved page`);
  response.setHeader('content-security-policy', savedPolicy);
  // This header isn't allowed in a sandbox.
  response.removeHeader('cross-origin-opener-policy');
  send(response, 'text/html; charset=utf-8', readRegularFile(file, largestSaved, 'refuse'));
}

function fail(
  { headers }: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  { note }: ViewOptions,
): void {
  if (response.destroyed) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const known =
    error instanceof HttpError
      ? error
      : error instanceof UserError
        ? new HttpError(422, 'invalid_request_error', error.message)
        : new HttpError(500, 'server_error', messageOf(error));
  if (known.status === 500) note(harmlessLine(`warning: ${known.message}`));
  // The browser shows this response to the user, so it is plain text.
  if (headers.accept?.includes('text/html')) {
    const type = { 'content-type': 'text/plain; charset=utf-8' };
    response.writeHead(known.status, { ...type, ...known.headers }).end(`${known.message}\n`);
  } else sendJson(response, known.body, known.status, known.headers);
}
