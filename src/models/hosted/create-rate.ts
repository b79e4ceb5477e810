/** `model.requestsPerMinute`: kept by one run, or by all that share a directory. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { RequestRate } from '../language-model.js';
import { MinuteWindow, type RateClock } from './rate.js';
import { waitOnClock } from './retry.js';
import { SharedRate } from './shared-rate.js';

const processClock: RateClock = { now: () => performance.now(), wait: waitOnClock };

/**
 * @param perMinute undefined where nothing is limited
 * @param server what tells a server, its account and its model from others, with which the rate is not shared
 */
export function createRate(
  perMinute: number | undefined,
  server: readonly (string | undefined)[],
  clock: RateClock = processClock,
): RequestRate | undefined {
  if (perMinute === undefined) return undefined;
  const own = new MinuteWindow(perMinute, clock);
  let shared: SharedRate | undefined;
  return {
    turn: (turn) => (shared ?? own).turn(turn),
    share(directory) {
      const name = createHash('sha256').update(JSON.stringify(server)).digest('hex').slice(0, 16);
      shared = new SharedRate({ directory: join(directory, `rate-${name}`), perMinute, clock });
    },
    close: () => shared?.close(),
  };
}
