/** Passes commands from pages to runs. */
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { readChanges } from '../experiment/run-commands.js';
import { steer, steeredText } from '../runs/listing/steer.js';
import { badRequest } from './http.js';
import { action } from './managing.js';

const requestShape = z.discriminatedUnion('action', [
  z.strictObject({ of: z.string(), action: z.enum(['pause', 'resume']) }),
  z.strictObject({ of: z.string(), action: z.literal('stop'), now: z.boolean().default(false) }),
  z.strictObject({ of: z.string(), action: z.literal('set'), overrides: z.array(z.string()).min(1).max(50) }),
]);

/** Seconds to wait for the run's process to respond. */
const patience = 3;

/** Pauses, resumes, stops or changes a run. @throws UserError if it isn't running, or a setting can't be changed */
export const steerRun = action(requestShape, async ({ of, ...asked }, { placeOf }) => {
  const { item, path } = placeOf(of);
  if (!['run', 'play', 'training'].includes(item.kind))
    throw badRequest(`${of} isn't a single run or training run`, 'of');
  if (
    asked.action === 'set' &&
    item.kind === 'run' &&
    readChanges(path, asked.overrides).changes.length === 0
  )
    throw new UserError({
      field: 'overrides',
      value: asked.overrides.join(' '),
      message: 'the run already has these settings',
    });
  return steeredText(await steer(path, asked, patience), path).replace(/^\.\s+/, '');
});
