/** A thread that plays episodes for `evaluation-workers.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { makeEnvironment } from '../environments/catalogue/open.js';
import { UserError } from '../errors.js';
import { createPolicyFamily } from '../policies/families.js';
import { playEpisode } from './episode.js';
import type { WorkerAnswer, WorkerJob, WorkerSetting } from './evaluation-workers.js';

const setting = workerData as WorkerSetting;
const environment = await makeEnvironment(setting.environment.id, setting.environment.options);
const family = createPolicyFamily(setting.policy, environment);

parentPort?.on('message', ({ parameters, task }: WorkerJob) => {
  parentPort?.postMessage(answer(parameters, task));
});

function answer(parameters: WorkerJob['parameters'], task: WorkerJob['task']): WorkerAnswer {
  try {
    const episode = playEpisode(environment, family.build(parameters), task, setting.maxSteps);
    return { kind: 'played', episode };
  } catch (error) {
    if (error instanceof UserError) return { kind: 'refused', problems: error.problems };
    throw error;
  }
}
