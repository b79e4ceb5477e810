import { messageOf, UserError } from '../../../base/errors.js';
import { type Engine, loadEngine, RequestError } from '../generation/engine.js';
import { AbortedError } from '../generation/generation.js';
import type { ChildMessage, FailureReport, ParentMessage } from '../generation/protocol.js';

// Runs a model in its own process, so that an experiment survives if the model crashes or is killed.

let engine: Promise<Engine> | undefined;
type Job = ParentMessage & { readonly kind: 'generate' };
/** Jobs that are waiting or running, and whether they have been aborted. */
const jobs = new Map<number, { aborted: boolean }>();

process.on('message', (message: ParentMessage) => {
  switch (message.kind) {
    case 'load':
      engine = loadEngine(message.settings);
      engine.then(
        ({ report }) => send({ kind: 'loaded', report }),
        (error: unknown) => send({ kind: 'load-failed', failure: failureOf(error) }),
      );
      break;
    case 'generate':
      jobs.set(message.id, { aborted: false });
      void runJob(message);
      break;
    case 'abort': {
      const state = jobs.get(message.id);
      if (state !== undefined) state.aborted = true;
    }
  }
});

async function runJob({ id, job }: Job): Promise<void> {
  try {
    const loadedEngine = await engine;
    if (loadedEngine === undefined) throw new Error('no model was loaded before this job');
    const result = await loadedEngine.generate(job, {
      isAborted: () => jobs.get(id)?.aborted ?? true,
      onRead: (read, total) => send({ kind: 'read', id, read, total }),
    });
    send({ kind: 'done', id, result });
  } catch (error) {
    send({ kind: 'failed', id, failure: failureOf(error) });
  } finally {
    jobs.delete(id);
  }
}

function failureOf(error: unknown): FailureReport {
  if (error instanceof UserError) return { kind: 'user', problems: error.problems };
  if (error instanceof AbortedError) return { kind: 'aborted' };
  return { kind: error instanceof RequestError ? error.kind : 'server', message: messageOf(error) };
}

function send(message: ChildMessage): void {
  // If the parent is gone, nobody needs the message.
  if (process.connected) process.send?.(message);
}

// Without a parent, abort all jobs, so that the process can end.
process.on('disconnect', () => {
  for (const state of jobs.values()) state.aborted = true;
});
// Ctrl-C reaches the whole process group, but the parent decides how each job ends.
process.on('SIGINT', () => {});
