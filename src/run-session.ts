import { type Assembly, experimentIn } from './assemble.js';
import { runExperiment } from './experiment.js';
import type { RunDirectory } from './run-directory.js';
import type { RunEvent, StopReason } from './run-log.js';
import type { CommandContext, Sink } from './terminal.js';
import { writeRunReport } from './write-report.js';

/** Runs an experiment in its directory, from wherever it stands, to its end, and writes the report. */
export async function runInDirectory(
  assembly: Assembly,
  directory: RunDirectory,
  sink: Sink,
  context: Pick<CommandContext, 'now' | 'stop'>,
): Promise<void> {
  const started = context.now().getTime();
  const earlierMs = directory.manifest.activeMs;
  const activeMs = () => earlierMs + context.now().getTime() - started;
  directory.update({
    status: 'running',
    iterations: { ...directory.manifest.iterations, of: assembly.config.iterations },
  });
  try {
    const emit = (event: RunEvent) => {
      directory.record(event);
      keepManifest(directory, event, activeMs());
      sink(event);
    };
    await runExperiment(experimentIn(assembly, directory, { emit, now: context.now }), context.stop);
  } catch (error) {
    directory.update({ status: 'failed', activeMs: activeMs() });
    throw error;
  } finally {
    await directory.close();
    await assembly.model.close?.();
  }
  await writeRunReport(directory.path);
}

function keepManifest(directory: RunDirectory, event: RunEvent, activeMs: number): void {
  const { manifest } = directory;
  switch (event.kind) {
    case 'run-started':
      directory.update({ confirmations: [] });
      break;
    case 'candidate-evaluated':
    case 'warmup-evaluated': {
      const { iteration, candidate, score, parameters } = event.entry;
      if (manifest.best === undefined || score > manifest.best.return) {
        directory.update({ best: { iteration, candidate, return: score, parameters } });
      }
      break;
    }
    case 'iteration-finished':
      directory.update({
        iterations: { ...manifest.iterations, done: event.iteration },
        usage: event.usage,
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
        activeMs,
      });
      break;
    default:
  }
}

function statusAfter(reason: StopReason): 'completed' | 'interrupted' | 'failed' {
  switch (reason.kind) {
    case 'iterations':
    case 'target':
    case 'limit':
      return 'completed';
    case 'interrupted':
      return 'interrupted';
    case 'model-error':
      return 'failed';
  }
}
