import { requireExactInt8 } from '../../../finetune/engine/training-session.js';

/** True if this CPU multiplies 8-bit numbers exactly, as training with `method.compute: int8` requires. */
export const hasInt8 = await requireExactInt8('cpu').then(
  () => true,
  () => false,
);
if (!hasInt8)
  process.stderr.write("Skipping int8 training tests: this CPU can't multiply 8-bit numbers exactly.\n");
