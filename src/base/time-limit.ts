import { createContext, Script } from 'node:vm';

/** Work from outside took too long: a pattern that backtracks without end, a loop that never ends. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

const context = createContext({ work: undefined as unknown });
const call = new Script('work()');

/**
 * Does work, and cuts it short after a time, also within a regular expression or a loop that gives no turn to anything
 * else. Data that the work changes may be left half-changed.
 * @throws TimeLimitError
 */
export function withinTime<T>(seconds: number, work: () => T): T {
  const outer = context.work;
  context.work = work;
  try {
    return call.runInContext(context, { timeout: seconds * 1000 }) as T;
  } catch (error) {
    if ((error as { code?: unknown } | undefined)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new TimeLimitError(`it takes longer than ${seconds} s`);
  } finally {
    context.work = outer;
  }
}
