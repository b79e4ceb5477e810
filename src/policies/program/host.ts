/** The code of a `ProgramThread`. */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../base/errors.js';
import type { Action, Observation } from '../../environments/environment.js';
import { ProgramFault } from './program.js';
import type { HostReply, HostRequest, HostSetting } from './program-thread.js';
import { openSandbox } from './sandbox.js';

const { environment, port, replies } = workerData as HostSetting;
const sandbox = await openSandbox(environment);
const episodes = new Map<number, (observation: Observation) => Action>();

port.on('message', (request: HostRequest) => {
  if (request.kind === 'release') {
    episodes.delete(request.episode);
    return;
  }
  port.postMessage(answerTo(request));
  Atomics.add(replies, 0, 1);
  Atomics.notify(replies, 0);
});

parentPort!.postMessage('ready');

function answerTo(request: Exclude<HostRequest, { kind: 'release' }>): HostReply {
  try {
    if (request.kind === 'act') return { action: episodes.get(request.episode)!(request.observation) };
    episodes.set(request.episode, sandbox.build(request.source).forEpisode(request.seed));
    return {};
  } catch (error) {
    return error instanceof ProgramFault ? { failure: error.failure } : { error: messageOf(error) };
  }
}
