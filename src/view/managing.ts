/** Tags and removes items on a page's request, like `policyloop tag` and `policyloop remove`. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { plural } from '../base/text/numbers.js';
import { isHolder } from '../runs/listing/item.js';
import { changeLabels } from '../runs/listing/listing.js';
import { removableAt, removeDirectory } from '../runs/listing/remove.js';
import { badRequest, HttpError, readJsonBody } from './http.js';
import { isBelow, type Place, type Root } from './items.js';

/** The parts of the view that actions use. */
export interface Site {
  readonly live: { places(): readonly Place[]; refresh(): void };
  readonly options: { readonly roots: readonly Root[] };
  /** @throws HttpError if no item has this name, or if the item can't be read */
  placeOf(name: string): Place;
}

/** Performs a page's request. @returns the outcome, as text for the user */
export type Action = (request: IncomingMessage, site: Site) => Promise<{ readonly text: string }>;

/**
 * Creates an action that validates its request against a schema.
 * @param longest maximum size of the request's body, in bytes; the default is enough for the names of thousands of runs
 */
export const action =
  <T>(shape: z.ZodType<T>, perform: (asked: T, site: Site) => Promise<string>, longest = 2 ** 20): Action =>
  async (request, site) => {
    // Browsers send an Origin header, unlike most other programs. The token has already been checked.
    if (request.headers.origin === undefined)
      throw new HttpError(
        403,
        'only pages of this server can do this; use policyloop stop, tag or remove instead',
      );
    const { data, error } = shape.safeParse(await readJsonBody(request, longest));
    if (error !== undefined) throw badRequest(error.issues[0]!.message, error.issues[0]!.path.join('.'));
    return { text: await perform(data, site) };
  };

const names = z.array(z.string()).min(1, 'select at least one run').max(10_000);
const tags = z.array(z.string()).max(100).default([]);

/** Tags or untags runs and training runs, also those in selected directories. @throws UserError for an invalid tag */
export const tagItems = action(
  z.strictObject({ of: names, add: tags, remove: tags }),
  async ({ add, of, remove }, { live, placeOf }) => {
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
    return `${add.length > 0 ? 'tagged' : 'removed tags from'} ${plural(paths.size, 'run')}`;
  },
);

/**
 * Deletes items.
 * @throws UserError if a process is writing to one of them, or HttpError if one is a root directory; then none is deleted
 */
export const removeItems = action(
  z.strictObject({ of: names }),
  async ({ of }, { live, options, placeOf }) => {
    const places = [...new Set(of)].map(placeOf);
    const root = places.find(({ path }) => options.roots.some((one) => one.path === path));
    if (root !== undefined)
      throw badRequest(`${root.item.name} can't be removed, because this view shows it`, 'of');
    // Deleting a directory also deletes the runs in it.
    const outermost = places.filter(({ item }) => !places.some((other) => isBelow(item, other.item)));
    const paths = outermost.flatMap(({ path }) => removableAt(path));
    for (const path of paths) removeDirectory(path);
    live.refresh();
    return `deleted ${plural(outermost.length, 'item')}`;
  },
);
