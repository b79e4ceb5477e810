/** Tags and stops runs on a page's request, like `policyloop tag` and `policyloop stop`. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { plural } from '../base/text/numbers.js';
import { holdsRuns } from '../runs/listing/item.js';
import { changeLabels } from '../runs/listing/labels.js';
import { isInside } from '../runs/listing/scan.js';
import { stoppedText, stopRun } from '../runs/listing/stop.js';
import { HttpError, readJsonBody } from './http.js';
import type { LiveItems } from './live.js';

/** Performs a page's request. @returns the outcome, as text for the user */
export type ViewAction = (request: IncomingMessage, live: LiveItems) => Promise<{ readonly text: string }>;

/** Maximum size of a request's body in bytes: enough for the names of thousands of runs. */
const maxBodyBytes = 2 ** 20;

/** Creates an action that validates its request against a schema. */
const createAction =
  <T>(schema: z.ZodType<T>, perform: (body: T, live: LiveItems) => Promise<string>): ViewAction =>
  async (request, live) => {
    // Browsers send an Origin header, unlike most other programs. The token has already been checked.
    if (request.headers.origin === undefined)
      throw new HttpError(
        403,
        'only pages of this server can do this; use policyloop stop or policyloop tag',
      );
    const { data, error } = schema.safeParse(await readJsonBody(request, maxBodyBytes));
    if (error !== undefined) throw new HttpError(400, error.issues[0]!.message);
    return { text: await perform(data, live) };
  };

const namesSchema = z.array(z.string()).min(1, 'select at least one run').max(10_000);
const tagsSchema = z.array(z.string()).max(100).default([]);

/** Changes tags of runs, also in directories. @throws HttpError for an unknown run; UserError for a bad tag or file */
export const tagItems = createAction(
  z.strictObject({ of: namesSchema, add: tagsSchema, remove: tagsSchema }),
  async ({ add, of, remove }, live) => {
    const allItems = live.locatedItems();
    const places = of
      .map((name) => live.locate(name))
      .flatMap((place) =>
        holdsRuns(place.item) ? allItems.filter(({ item }) => isInside(item, place.item)) : [place],
      );
    const paths = new Set(places.flatMap(({ item, path }) => (holdsRuns(item) ? [] : [path])));
    for (const path of paths)
      await changeLabels(path, (labels) => ({
        ...labels,
        tags: [...labels.tags.filter((tag) => !remove.includes(tag)), ...add],
      }));
    live.refresh();
    return `${add.length > 0 ? 'tagged' : 'removed tags from'} ${plural(paths.size, 'run')}`;
  },
);

/** Requests a stop; the page shows the end later. @throws HttpError if no run has this name; UserError if it is over */
export const stopItem = createAction(z.strictObject({ of: z.string() }), async ({ of }, live) => {
  const { item, path } = live.locate(of);
  if (holdsRuns(item)) throw new HttpError(400, `${of} isn't a single run or training run`);
  return stoppedText(await stopRun(path, false, 0), false);
});
