import { requireExactInt8 } from '../../../finetune/engine/training-session.js';

/** Whether this processor has exact products of 8-bit numbers, which trainings with `method.compute: int8` need. */
export const hasInt8 = await requireExactInt8('cpu').then(
  () => true,
  () => false,
);
if (!hasInt8)
  process.stderr.write("Skipping int8 training tests: this CPU can't multiply 8-bit numbers exactly.\n");
