import type { CommandContext } from '../../base/context.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { stageOf } from '../../runs/calls.js';
import type { RunEvent } from '../../runs/events.js';
import { watchStopRequests } from '../../runs/stop-request.js';
import type { RunDirectory } from '../../runs/writer.js';
import { runExperiment } from '../experiment.js';
import type { Experiment } from '../parts.js';
import { capsIn, statusAfter } from '../stopping.js';
import { type Assembly, closeEnvironment, languageModelsOf } from './assemble.js';
import { experimentIn } from './open-experiment.js';

/** Shows the progress of a run. */
export interface Display {
  show(event: RunEvent): void;
  close(): void;
}

/** Runs or resumes an experiment in its directory until it ends. The report is written separately. */
export async function runInDirectory(
  assembly: Assembly,
  directory: RunDirectory,
  display: Display,
  context: Pick<CommandContext, 'now' | 'milliseconds' | 'stop'>,
): Promise<void> {
  const started = context.milliseconds();
  const earlierMs = directory.manifest.activeMs;
  const requests = watchStopRequests(directory.path, context.stop);
  const activeMs = () => earlierMs + context.milliseconds() - started;
  const emit = (event: RunEvent) => {
    directory.record(event);
    keepManifest(directory, event, activeMs());
    display.show(event);
  };
  try {
    const experiment = experimentIn(assembly, directory, { emit, activeMs, now: context.now });
    catchUp(directory, experiment);
    await runExperiment(experiment, requests.stop);
  } catch (error) {
    directory.update({ status: 'failed', activeMs: activeMs() });
    throw error;
  } finally {
    requests.close();
    display.close();
    // Save first, because a user's environment or model may hang on close.
    await directory.close();
    await closeEnvironment(assembly);
    assembly.family.close?.();
    for (const model of languageModelsOf(assembly)) await model.close?.();
  }
}

/** Clears a resumed run's earlier outcome from the manifest, and updates the rest from the logs, which may be newer. */
function catchUp(directory: RunDirectory, experiment: Experiment): void {
  const { buffer, config, ledger, progress } = experiment;
  const caps = capsIn(experiment);
  const { best } = buffer;
  directory.update({
    status: 'running',
    reason: undefined,
    confirmations: [],
    iterations: { done: progress.completed, of: config.iterations },
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

function keepManifest(directory: RunDirectory, event: RunEvent, activeMs: number): void {
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
    case 'confirmed':
      directory.update({ confirmations: [...manifest.confirmations, event.confirmation] });
      break;
    case 'run-finished':
      directory.update({
        status: statusAfter(event.reason),
        reason: event.reason,
        usage: event.usage,
        ...(event.caps && { caps: event.caps }),
        activeMs,
      });
      break;
    default:
  }
}
