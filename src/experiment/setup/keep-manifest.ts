/** Keeps a run's manifest up to date. */
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { stageOf } from '../../runs/calls.js';
import type { RunEvent } from '../../runs/events.js';
import type { RunDirectory } from '../../runs/writer.js';
import type { Experiment } from '../parts.js';
import { capsIn, statusAfter } from '../stopping.js';

/** Clears a resumed run's outcome from the manifest; updates progress and usage from the logs, which may be newer. */
export function refreshManifest(directory: RunDirectory, experiment: Experiment): void {
  const { buffer, config, ledger, progress } = experiment;
  const caps = capsIn(experiment);
  const { best } = buffer;
  directory.update({
    status: 'running',
    reason: undefined,
    confirmations: [],
    iterations: { done: progress.lastIteration, of: config.iterations },
    best: best && bestOf(best),
    usage: ledger.totals,
    caps: caps.length > 0 ? caps : undefined,
  });
}

const bestOf = ({ iteration, candidate, score, parameters, program }: BufferEntry) => ({
  iteration,
  candidate,
  return: score,
  parameters,
  ...(program !== undefined && { program }),
});

export function updateManifest(directory: RunDirectory, event: RunEvent, activeMs: number): void {
  const { manifest } = directory;
  switch (event.kind) {
    case 'call-finished': {
      const { completion } = event.call;
      const format = completion?.format;
      if (stageOf(event.call) === 'proposal' && format !== undefined && format !== manifest.format) {
        directory.update({ format });
      }
      break;
    }
    case 'candidate-evaluated':
    case 'warmup-evaluated':
      if (manifest.best === undefined || event.entry.score > manifest.best.return) {
        directory.update({ best: bestOf(event.entry) });
      }
      break;
    case 'iteration-finished':
      directory.update({
        iterations: { ...manifest.iterations, done: event.iteration },
        usage: event.usage,
        ...(event.caps && { caps: event.caps }),
        activeMs,
      });
      break;
    case 'noise-measured':
      directory.update({ noise: event.noise });
      break;
    case 'confirmed':
      directory.update({ confirmations: [...manifest.confirmations, event.confirmation] });
      break;
    case 'run-finished':
      directory.update({
        status: statusAfter(event.reason),
        reason: event.reason,
        // `event.best` ignores an unfinished iteration, which a resumed run evaluates again.
        best: event.best && bestOf(event.best),
        usage: event.usage,
        ...(event.caps && { caps: event.caps }),
        activeMs,
      });
      break;
    default:
  }
}
