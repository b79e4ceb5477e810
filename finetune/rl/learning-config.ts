/** The two ways to train a language model by reinforcement: as an agent or as a proposer. */

import { isAbsolute } from '../../src/config/learning/reward.js';
import { shellWord } from '../../src/format/one-line.js';
import { isMapping } from '../../src/settings/schema.js';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { servedAs } from '../train/method.js';
import { isProposerConfig, loadProposerConfig, type ProposerConfig } from './proposer/proposer-config.js';
import { heldOutRuns } from './proposer/run-plans.js';
import { loadRlConfig, type RlConfig } from './rl-config.js';

export type LearningConfig = RlConfig | ProposerConfig;

export const isProposer = (config: LearningConfig): config is ProposerConfig => 'tasks' in config;

/** @throws UserError like `loadRlConfig` */
export function loadLearningConfig(...given: Parameters<typeof loadRlConfig>): LearningConfig {
  const [file, , cwd = ''] = given;
  return isProposerConfig(file, cwd) ? loadProposerConfig(...given) : loadRlConfig(...given);
}

/** Limits on replies: most tokens, and the sampling temperature. */
export const answeringOf = (config: LearningConfig): Pick<RlConfig['agent'], 'maxTokens' | 'temperature'> =>
  isProposer(config) ? config.answers : config.agent;

/** Number of episodes in an evaluation (for proposers, of runs). */
export const evaluationSize = (config: LearningConfig): number =>
  isProposer(config) ? config.evaluation.runs : config.evaluation.episodes;

/**
 * `most`: the most replies per episode. `evaluated`: episodes per unit that an evaluation counts; 1 for
 * agents, and for proposers the mean number of iterations per run.
 */
export function turnsOf(config: LearningConfig): { readonly most: number; readonly evaluated: number } {
  if (!isProposer(config)) return { most: config.agent.maxTurns, evaluated: 1 };
  return { most: 1, evaluated: mean(heldOutRuns(config).map(({ iterations }) => iterations)) };
}

/** Ids of the environments to learn in, and the share of the training that each gets. */
export function environmentsOf(config: LearningConfig): ReadonlyMap<string, number> {
  if (!isProposer(config)) return new Map([[config.environment.id, 1]]);
  const shares = new Map<string, number>();
  const total = sum(config.tasks.map(({ weight }) => weight));
  for (const { environment = config.experiment.environment, weight } of config.tasks) {
    const id = String(isMapping(environment) ? environment.id : environment);
    shares.set(id, (shares.get(id) ?? 0) + weight / total);
  }
  return shares;
}

/** Names of the environments, for titles. */
export function placeOf(config: LearningConfig): string {
  const ids = [...environmentsOf(config).keys()];
  return ids.length > 3 ? `${ids.slice(0, 2).join(', ')} and ${ids.length - 2} more` : ids.join(', ');
}

/**
 * Command-line words that use the result in a run or in play, with the same settings as in training.
 * @param model the trained model's path as shown on the command line
 * @param result likewise, path of the adapter or model
 */
export function usedAs(config: LearningConfig, model: string, result: string): string {
  const words = ['model.provider=local', servedAs(config.method, model, result)];
  if (!isProposer(config)) {
    const { act, history, maxTokens, prompts } = config.agent;
    if (prompts !== undefined) words.push(shellWord(`policy.prompts=${prompts}`));
    words.push(`policy.act=${act}`, `policy.history=${history}`, `model.maxTokens=${maxTokens}`);
  }
  return words.join(' ');
}

/** Labels for pages. */
export function wordsOf(config: LearningConfig) {
  if (!isProposer(config))
    return {
      measured: 'mean return',
      counted: 'held-out episode',
      played: 'episodes',
      sampled: 'Mean return of the episodes',
      spread: 'Spread of the returns in groups',
      valid: 'Replies that name an action',
    } as const;
  return {
    measured: isAbsolute(config.reward) ? 'mean reward' : 'share of searches beaten',
    counted: 'held-out run',
    played: 'answers',
    sampled: 'Mean reward of the candidates',
    spread: 'Spread of the rewards in groups',
    valid: 'Replies that can be read',
  } as const;
}
