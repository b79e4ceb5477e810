/** The code of a `PlayerThread`. */
import process from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { openPolicyFamily } from '../policies/families.js';
import { programsOf } from '../policies/policy.js';
import { actionsOf, rollout } from './episode.js';
import {
  type PlayerReply,
  type PlayerRequest,
  sentError,
  type WorkerPolicy,
  type WorkerSetting,
} from './player-thread.js';
import { makeTask } from './task.js';

const setting = workerData as WorkerSetting;
// Users' modules may write to the console, but standard output is for results.
process.stdout.write = process.stderr.write.bind(process.stderr);

const taskPromise = open();

parentPort!.on('message', (request: PlayerRequest) => void reply(request));

async function open() {
  const environment = await makeTask(setting.environment, setting.reward);
  const family = await openPolicyFamily(setting.policy, environment);
  await family.prepare?.();
  return { environment, family };
}

async function reply(request: PlayerRequest): Promise<void> {
  const say = (message: PlayerReply) => parentPort!.postMessage(message);
  try {
    say({ value: await answerTo(request) });
  } catch (error) {
    say({ error: sentError(error) });
  }
}

async function answerTo(request: PlayerRequest): Promise<unknown> {
  const { environment, family } = await taskPromise;
  const built = ({ parameters, program }: WorkerPolicy) => {
    if (program !== undefined) programsOf(family)?.add(program);
    return family.build(parameters);
  };
  switch (request.kind) {
    case 'play': {
      const policy = built(request.policy);
      return request.tasks.map((task) =>
        rollout(environment, policy, { ...task, maxSteps: setting.maxSteps }),
      );
    }
    case 'actions':
      return actionsOf(built(request.policy), request.episodes);
    case 'close':
      return environment.close?.();
  }
}
