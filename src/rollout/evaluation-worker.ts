/** A thread that plays episodes for `evaluation-workers.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf, UserError } from '../base/errors.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { endThread, hostModules } from '../modules/hosting.js';
import { tellPulse } from '../modules/pulse.js';
import { openPolicyFamily } from '../policies/families.js';
import { playEpisode } from './episode.js';
import type { WorkerAnswer, WorkerJob, WorkerSetting } from './evaluation-workers.js';
import { makeTask } from './task.js';

const { environment: source, policy, pulse, reward, maxSteps } = workerData as WorkerSetting;
const port = parentPort!;

if (pulse !== undefined) {
  hostModules((message) =>
    port.postMessage({
      kind: 'broken',
      failure: 'died',
      message: `an error that nothing caught: ${message}`,
    } satisfies WorkerAnswer),
  );
  tellPulse(pulse);
}
/** The first answer tells what can't be made, e.g. of a module that a thread can't import. */
const made = make();
made.catch(() => undefined);

port.on('message', async (job: WorkerJob | 'close') => {
  if (job !== 'close') return port.postMessage(await answer(job));
  await made.then(({ environment }) => environment.close?.()).catch(() => undefined);
  endThread(0);
});

async function make() {
  const environment = await makeTask(source, reward);
  return { environment, family: await openPolicyFamily(policy, environment) };
}

async function answer({ parameters, tasks }: WorkerJob): Promise<WorkerAnswer> {
  try {
    const { environment, family } = await made;
    const play = family.build(parameters);
    const episodes = tasks.map((task) => playEpisode(environment, play, task, maxSteps));
    return { kind: 'played', episodes };
  } catch (error) {
    if (error instanceof UserError) return { kind: 'refused', problems: error.problems };
    if (error instanceof EnvironmentError)
      return { kind: 'failed', failure: error.kind, message: error.message };
    if (pulse !== undefined)
      return { kind: 'broken', failure: 'raised', message: `its thread is broken: ${messageOf(error)}` };
    throw error;
  }
}
