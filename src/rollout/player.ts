/** Module that plays episodes in the threads of `evaluation-workers.ts`. */
import { openPolicyFamily } from '../policies/families.js';
import { playEpisode } from './episode.js';
import type { WorkerJob, WorkerSetting } from './evaluation-workers.js';
import { makeTask } from './task.js';

export default {
  async create({ environment: source, maxSteps, policy, reward }: WorkerSetting) {
    const environment = await makeTask(source, reward);
    const family = await openPolicyFamily(policy, environment);
    return {
      play({ parameters, tasks }: WorkerJob) {
        const chosen = family.build(parameters);
        return tasks.map((task) => playEpisode(environment, chosen, task, maxSteps));
      },
      close: () => environment.close?.(),
    };
  },
};
