/** Stops a run on a page's request. */
import { z } from 'zod';
import { stoppedText, stopRun } from '../runs/listing/stop.js';
import { badRequest } from './http.js';
import { action } from './managing.js';

/** Seconds to wait for the run's process to end. */
const patience = 3;

/** @throws UserError if no process executes the run */
export const stopItem = action(z.strictObject({ of: z.string() }), async ({ of }, { placeOf }) => {
  const { item, path } = placeOf(of);
  if (!['run', 'play', 'training'].includes(item.kind))
    throw badRequest(`${of} isn't a single run or training run`, 'of');
  return stoppedText(await stopRun(path, false, patience));
});
