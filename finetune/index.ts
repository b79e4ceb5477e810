/** The library for training: `import … from 'policyloop/finetune'`. */
import process from 'node:process';
import type { Action } from '../src/environments/environment.js';
import {
  type AgentFunctions,
  type AgentTraining,
  openTrainedAgent,
  type TrainedAgent,
} from './rl/trained-agent.js';

export type {
  AgentFunctions,
  AgentTraining,
  AgentUpdate,
  EndedEpisode,
  TrainedAgent,
} from './rl/trained-agent.js';

/**
 * Opens a model that acts and learns by PPO, in a loop of yours:
 *
 *     const action = await agent.act(observation);
 *     agent.assignReward(reward);
 *     const { update } = await agent.endEpisode();
 *
 * @throws UserError for what is wrong with the settings, or a model that can't be used
 */
export function openAgent<A extends Action>(
  functions: AgentFunctions<A>,
  training: AgentTraining,
): Promise<TrainedAgent<A>> {
  return openTrainedAgent(functions, training, process.cwd());
}
