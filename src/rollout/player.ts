/** The module that the threads of `evaluation-workers.ts` load to play episodes. */
import { openPolicyFamily } from '../policies/families.js';
import type { PolicyFamily } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import { actionsOf, playEpisode } from './episode.js';
import type { Observations, WorkerJob, WorkerPolicy, WorkerSetting } from './evaluation-workers.js';
import { makeTask } from './task.js';

export default {
  async create({ environment: source, maxSteps, policy, reward }: WorkerSetting) {
    const environment = await makeTask(source, reward);
    const family = await openPolicyFamily(policy, environment);
    await family.prepare?.();
    return {
      play({ tasks, ...policy }: WorkerJob) {
        const chosen = built(family, policy);
        return tasks.map((task) => playEpisode(environment, chosen, task, maxSteps));
      },
      actions: (policy: WorkerPolicy, episodes: Observations) => actionsOf(built(family, policy), episodes),
      close: () => environment.close?.(),
    };
  },
};

function built(family: PolicyFamily, { parameters, program }: WorkerPolicy) {
  if (program !== undefined) programsOf(family)?.add(program);
  return family.build(parameters);
}
