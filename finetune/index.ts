/** The training library: `import … from 'policyloop/finetune'`. */
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
 * Opens a model that acts in your own loop and learns by PPO:
 *
 *     const action = await agent.act(observation);
 *     agent.assignReward(reward);
 *     const { update } = await agent.endEpisode();
 *
 * @throws UserError if the settings are invalid or the model is unusable
 */
export function openAgent<A extends Action>(
  functions: AgentFunctions<A>,
  training: AgentTraining,
): Promise<TrainedAgent<A>> {
  return openTrainedAgent(functions, training, process.cwd());
}
