/** A thread that executes runs of a plan for `thread.ts`, one after another. */
import { parentPort, workerData } from 'node:worker_threads';
import type { CommandContext } from '../base/context.js';
import type { RunEvent } from '../runs/events.js';
import { type Job, playRun } from './play-run.js';
import type { FromThread, ThreadSetting, ToThread } from './thread.js';

const { cwd, env, time } = workerData as ThreadSetting;
const stop = { finish: new AbortController(), abort: new AbortController() };
const send = (message: FromThread) => parentPort?.postMessage(message);

const context: CommandContext = {
  print: () => undefined,
  note: (text) => send({ kind: 'note', text }),
  terminal: undefined,
  cwd,
  env,
  // Continue the clock of the command that started this thread.
  now: () => new Date(time + performance.now()),
  milliseconds: () => performance.now(),
  stop: { finish: stop.finish.signal, abort: stop.abort.signal },
};

parentPort?.on('message', (message: ToThread) => {
  if (message.kind !== 'play') {
    stop[message.kind].abort();
    return;
  }
  play(message.job).catch((error: unknown) => {
    // An uncaught error ends the thread and, with it, the command.
    setImmediate(() => {
      throw error;
    });
  });
});

/** Sends events in batches, because sending a single event takes longer than a short episode. */
async function play(job: Job): Promise<void> {
  let events: RunEvent[] = [];
  const sendEvents = () => {
    send({ kind: 'events', events });
    events = [];
  };
  const show = (event: RunEvent) => {
    // Omit trajectories, which may be large and aren't displayed.
    events.push('episodes' in event ? { ...event, episodes: [] } : event);
    if (
      ['iteration-finished', 'run-finished', 'waiting', 'rate-limited', 'fault', 'warning'].includes(
        event.kind,
      )
    )
      sendEvents();
  };
  const end = await playRun(job, show, context);
  if (events.length > 0) sendEvents();
  send({ kind: 'ended', end });
}
