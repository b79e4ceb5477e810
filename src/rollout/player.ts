/** The code of a `PlayerThread`. */
import process from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { openPolicyFamily } from '../policies/families.js';
import { programsOf } from '../policies/policy.js';
import { actionsOf, rollout } from './episode.js';
import {
  type PlayerRequest,
  type PlayerResponse,
  serializeError,
  type WorkerPolicy,
  type WorkerSetup,
} from './player-thread.js';
import { makeTask } from './task.js';

const setup = workerData as WorkerSetup;
// Users' modules may write to the console, but standard output is for results.
process.stdout.write = process.stderr.write.bind(process.stderr);

const partsPromise = openParts();

parentPort!.on('message', (request: PlayerRequest) => void handleRequest(request));

async function openParts() {
  const environment = await makeTask(setup.environment, setup.reward);
  const family = await openPolicyFamily(setup.policy, environment);
  await family.prepare?.();
  return { environment, family };
}

async function handleRequest(request: PlayerRequest): Promise<void> {
  const send = (message: PlayerResponse) => parentPort!.postMessage(message);
  try {
    send({ value: await resultFor(request) });
  } catch (error) {
    send({ error: serializeError(error) });
  }
}

async function resultFor(request: PlayerRequest): Promise<unknown> {
  const { environment, family } = await partsPromise;
  const buildPolicy = ({ parameters, program }: WorkerPolicy) => {
    if (program !== undefined) programsOf(family)?.add(program);
    return family.build(parameters);
  };
  switch (request.kind) {
    case 'play': {
      const policy = buildPolicy(request.policy);
      return request.tasks.map((task) => rollout(environment, policy, { ...task, maxSteps: setup.maxSteps }));
    }
    case 'actions':
      return actionsOf(buildPolicy(request.policy), request.episodes);
    case 'close':
      return environment.close?.();
  }
}
