import type { CommandContext } from '../../src/base/context.js';
import { formatBytes } from '../../src/format/numbers.js';
import { createProgress, type ProgressMode } from '../../src/format/progress.js';
import type { MergeHooks } from './merge.js';

/** Shows progress while writing a large file or directory, and stops on Ctrl-C. */
export function writingProgress(
  mode: ProgressMode,
  context: CommandContext,
): Required<MergeHooks> & { close(): void } {
  const progress = createProgress(mode, context);
  let written = 0;
  return {
    signal: context.stop.finish,
    onStart: (total) => progress.begin({ label: 'written', total, amount: formatBytes }),
    onBytes(bytes) {
      written += bytes;
      progress.update(written);
    },
    close: () => progress.close(),
  };
}
