import { messageOf, UserError } from '../src/errors.js';

/** What the runtime, the C++ library and V8 say when they get no memory. */
const outOfMemory =
  /bad[ _]alloc|failed to allocate|cannot allocate|out of memory|allocation failed|not enough memory/i;

/** @throws UserError in place of a failure for want of memory */
export async function orOutOfMemory<T>(doing: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UserError || !outOfMemory.test(messageOf(error))) throw error;
    throw new UserError({
      message: `memory ran out while ${doing}`,
      remedy:
        'lower batchTokens, which goes on from a checkpoint where there is one; else train anew with shorter examples, ' +
        'or with less to train or to load: method lora, fewer method.modules, a lower method.rank, method.quantization int4',
    });
  }
}
