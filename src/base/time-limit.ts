import { createContext, Script } from 'node:vm';

export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

const context = createContext({ work: undefined as unknown });
const callScript = new Script('work()');

/**
 * Runs work with a time limit that can interrupt even regular expressions and endless loops. Interrupted work may
 * leave data in an inconsistent state.
 * @throws TimeLimitError
 */
export function withTimeLimit<T>(seconds: number, work: () => T): T {
  const outerWork = context.work;
  context.work = work;
  try {
    return callScript.runInContext(context, { timeout: seconds * 1000 }) as T;
  } catch (error) {
    if ((error as { code?: unknown } | undefined)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new TimeLimitError(`it takes longer than ${seconds} s`);
  } finally {
    context.work = outerWork;
  }
}
