/** Shows how the writing of a large file or directory goes, and ends it on Ctrl-C. */
import { SingleBar } from 'cli-progress';
import type { CommandContext } from '../../src/context.js';
import { formatBytes } from '../../src/format/console.js';
import type { MergeHooks } from '../export/merge.js';

/** A bar on a terminal, nothing elsewhere. */
export function writingProgress(
  json: boolean,
  context: CommandContext,
): Required<MergeHooks> & { close(): void } {
  const signal = context.stop.finish;
  if (json || context.terminal === undefined)
    return { signal, onStart: () => undefined, onBytes: () => undefined, close: () => undefined };
  const bar = new SingleBar({
    format: '{bar} {written} of {size}  {eta_formatted} left',
    stream: context.terminal,
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    barCompleteChar: '━',
    barIncompleteChar: '·',
  });
  let written = 0;
  let size = 0;
  return {
    signal,
    onStart(bytes) {
      size = bytes;
      bar.start(size, 0, { written: formatBytes(0), size: formatBytes(size) });
    },
    onBytes(bytes) {
      written += bytes;
      bar.update(Math.min(written, size), { written: formatBytes(written) });
    },
    close: () => bar.stop(),
  };
}
