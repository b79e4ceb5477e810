/** Tags and removes items for a page, like `policyloop tag` and `policyloop remove`. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { plural } from '../format/numbers.js';
import { changeLabels } from '../runs/listing/listing.js';
import { moveToTrash, requireIdle } from '../runs/listing/trash.js';
import { badRequest, HttpError, readJsonBody } from '../serve/http.js';
import { isBelow, isHolder, type Place, type Root } from './items.js';

/** What these actions need of the view. */
interface Site {
  readonly live: { places(): readonly Place[]; refresh(): void };
  readonly options: { readonly roots: readonly Root[] };
}

/** Maximum size of a request body, in bytes: the names of thousands of runs. */
const longestBody = 2 ** 20;

const names = z.array(z.string()).min(1, 'select at least one run').max(10_000);
const tagsShape = z.strictObject({
  of: names,
  add: z.array(z.string()).max(100).default([]),
  remove: z.array(z.string()).max(100).default([]),
});
const removalShape = z.strictObject({ of: names });

async function readRequest<T>(request: IncomingMessage, shape: z.ZodType<T>): Promise<T> {
  // Browsers send the page's origin. The token has already been checked.
  if (request.headers.origin === undefined)
    throw new HttpError(
      403,
      'permission_error',
      'only pages of this server can change runs; use policyloop tag or remove instead',
    );
  const { data, error } = shape.safeParse(await readJsonBody(request, longestBody));
  if (error !== undefined) throw badRequest(error.issues[0]!.message, error.issues[0]!.path.join('.'));
  return data;
}

type PlaceOf = (name: string) => Place;

/**
 * Tags runs and training runs; a directory of runs stands for its runs.
 * @returns the outcome, for people
 * @throws UserError for an invalid tag
 */
export async function tagFromPage(request: IncomingMessage, placeOf: PlaceOf, { live }: Site) {
  const { add, of, remove } = await readRequest(request, tagsShape);
  const all = live.places();
  const places = of
    .map(placeOf)
    .flatMap((place) =>
      isHolder(place.item) ? all.filter(({ item }) => isBelow(item, place.item)) : [place],
    );
  const paths = new Set(places.flatMap(({ item, path }) => (isHolder(item) ? [] : [path])));
  for (const path of paths)
    await changeLabels(path, (labels) => ({
      ...labels,
      tags: [...labels.tags.filter((tag) => !remove.includes(tag)), ...add],
    }));
  live.refresh();
  return { text: `${add.length > 0 ? 'tagged' : 'removed the tag from'} ${plural(paths.size, 'run')}` };
}

/**
 * Moves items to the trash of their directory.
 * @returns the outcome, for people
 * @throws UserError if a process writes to one of them; then none is moved
 */
export async function removeFromPage(request: IncomingMessage, placeOf: PlaceOf, { live, options }: Site) {
  const { of } = await readRequest(request, removalShape);
  const places = [...new Set(of)].map(placeOf);
  for (const { item, path } of places) {
    if (options.roots.some((root) => root.path === path))
      throw badRequest(`${item.name} is the directory that this view shows`, 'of');
    requireIdle(path);
  }
  // A directory takes its runs along.
  const outermost = places.filter(({ item }) => !places.some((other) => isBelow(item, other.item)));
  for (const { path } of outermost) {
    const root = options.roots.find((one) => path.startsWith(`${one.path}/`))?.path ?? path;
    moveToTrash(path, { cwd: root, runsDir: root });
  }
  live.refresh();
  return { text: `moved ${outermost.length} to the trash` };
}
