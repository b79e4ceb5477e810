/** Runs that are steered from a page: paused, let go on, stopped, changed. */
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { readChanges } from '../experiment/run-commands.js';
import { steer, steeredText } from '../runs/listing/steer.js';
import { badRequest, HttpError, readJsonBody } from '../serve/http.js';
import type { Place } from './items.js';

const requestShape = z.discriminatedUnion('action', [
  z.strictObject({ of: z.string(), action: z.enum(['pause', 'resume']) }),
  z.strictObject({ of: z.string(), action: z.literal('stop'), now: z.boolean().default(false) }),
  z.strictObject({ of: z.string(), action: z.literal('set'), overrides: z.array(z.string()).min(1).max(50) }),
]);

/** Seconds that an answer of the run's process is waited for. */
const patience = 3;

/**
 * @returns what became of it, in words
 * @throws HttpError unless a page of this server asks
 * @throws UserError where no process plays the run, and for what can't change
 */
export async function steerFromPage(
  request: IncomingMessage,
  placeOf: (name: string) => Place,
): Promise<{ readonly text: string }> {
  // Browsers name the page that asks; who it is was looked at before.
  if (request.headers.origin === undefined)
    throw new HttpError(
      403,
      'permission_error',
      'only pages of this server steer runs: policyloop pause, stop, set',
    );
  const { data, error } = requestShape.safeParse(await readJsonBody(request));
  if (data === undefined) throw badRequest(error.issues[0]!.message, error.issues[0]!.path.join('.'));
  const { of, ...asked } = data;
  const { item, path } = placeOf(of);
  if (!['run', 'play', 'training'].includes(item.kind)) throw badRequest(`${of} is played run by run`, 'of');
  if (
    asked.action === 'set' &&
    item.kind === 'run' &&
    readChanges(path, asked.overrides).changes.length === 0
  )
    throw new UserError({ field: 'overrides', value: asked.overrides.join(' '), message: 'is so already' });
  return { text: steeredText(await steer(path, asked, patience), path).replace(/^\.\s+/, '') };
}
