/** A thread that plays episodes for `evaluation-workers.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../base/errors.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { openPolicyFamily } from '../policies/families.js';
import { playEpisode } from './episode.js';
import type { WorkerAnswer, WorkerJob, WorkerSetting } from './evaluation-workers.js';
import { makeTask } from './task.js';

const { environment: source, policy, reward, maxSteps } = workerData as WorkerSetting;
/** The first answer tells what can't be made, e.g. of a module that a thread can't import. */
const made = make();
made.catch(() => undefined);

parentPort?.on('message', async (job: WorkerJob) => parentPort?.postMessage(await answer(job)));

async function make() {
  const environment = await makeTask(source, reward);
  return { environment, family: await openPolicyFamily(policy, environment) };
}

async function answer({ parameters, task }: WorkerJob): Promise<WorkerAnswer> {
  try {
    const { environment, family } = await made;
    const episode = playEpisode(environment, family.build(parameters), task, maxSteps);
    return { kind: 'played', episode };
  } catch (error) {
    if (error instanceof UserError) return { kind: 'refused', problems: error.problems };
    if (error instanceof EnvironmentError) {
      return { kind: 'failed', failure: error.kind, message: error.message };
    }
    throw error;
  }
}
