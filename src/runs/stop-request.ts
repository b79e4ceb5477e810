/** `stop.json` in the directory of a run, training run or plan asks the processes that execute it to stop. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { unlessRejected } from '../base/errors.js';
import { readOwnJson, replaceFile } from '../base/files/files.js';

const requestShape = z.object({
  /** If true, the calls and evaluations in flight are aborted. */
  now: z.boolean(),
});

const requestFile = (directory: string) => join(directory, 'stop.json');

export const requestStop = (directory: string, now: boolean): void =>
  replaceFile(requestFile(directory), JSON.stringify({ now }));

/** Deletes a request to processes that have ended. */
export const removeStopRequest = (directory: string): void => rmSync(requestFile(directory), { force: true });

/** The two ways in which a user can end a run early. */
export interface StopRequests {
  /** Let the calls and evaluations in flight finish, then stop. */
  readonly finish: AbortSignal;
  /** Abort the calls and evaluations in flight. */
  readonly abort: AbortSignal;
}

const pollMs = 250;

/**
 * Adds the stop requests of other processes to those of this one.
 * @param isShared true if several processes obey the request: then it isn't deleted, and an earlier request counts, too
 */
export function watchStopRequests(
  directory: string,
  { abort, finish }: StopRequests,
  isShared = false,
): { readonly stop: StopRequests; close(): void } {
  const controllers = { finish: new AbortController(), abort: new AbortController() };
  const poll = () => {
    if (!existsSync(requestFile(directory))) return;
    const request = unlessRejected(() => requestShape.safeParse(readOwnJson(requestFile(directory))).data);
    if (request?.now === true) controllers.abort.abort();
    controllers.finish.abort();
  };
  if (isShared) poll();
  else removeStopRequest(directory);
  const timer = setInterval(poll, pollMs).unref();
  return {
    stop: {
      finish: AbortSignal.any([finish, controllers.finish.signal]),
      abort: AbortSignal.any([abort, controllers.abort.signal]),
    },
    close() {
      clearInterval(timer);
      if (!isShared) removeStopRequest(directory);
    },
  };
}
