/** The two kinds of learning of a language model: an agent's and a proposer's. */

import { isAbsolute } from '../../src/config/learning/reward.js';
import { shellWord } from '../../src/format/shell-word.js';
import { isMapping } from '../../src/settings/schema.js';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { servedAs } from '../train/method.js';
import { isProposerConfig, loadProposerConfig, type ProposerConfig } from './proposer/proposer-config.js';
import { heldOutRuns } from './proposer/run-plans.js';
import { loadRlConfig, type RlConfig } from './rl-config.js';

export type LearningConfig = RlConfig | ProposerConfig;

export const isProposer = (config: LearningConfig): config is ProposerConfig => 'tasks' in config;

/** @throws UserError as `loadRlConfig` */
export function loadLearningConfig(...given: Parameters<typeof loadRlConfig>): LearningConfig {
  const [file, , cwd = ''] = given;
  return isProposerConfig(file, cwd) ? loadProposerConfig(...given) : loadRlConfig(...given);
}

/** How the model answers: the longest reply in tokens, and the temperature of the sampling. */
export const answeringOf = (config: LearningConfig): Pick<RlConfig['agent'], 'maxTokens' | 'temperature'> =>
  isProposer(config) ? config.answers : config.agent;

/** Episodes of an evaluation, or runs. */
export const evaluationSize = (config: LearningConfig): number =>
  isProposer(config) ? config.evaluation.runs : config.evaluation.episodes;

/** The most replies of an episode, and the replies of what an evaluation counts, on average. */
export function turnsOf(config: LearningConfig): { readonly most: number; readonly evaluated: number } {
  if (!isProposer(config)) return { most: config.agent.maxTurns, evaluated: 1 };
  return { most: 1, evaluated: mean(heldOutRuns(config).map(({ iterations }) => iterations)) };
}

/** The ids of the environments that it learns in, and the share of each in what is learnt from. */
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

/** Where the model acts, or whose policies it proposes, for titles. */
export function placeOf(config: LearningConfig): string {
  const ids = [...environmentsOf(config).keys()];
  return ids.length > 3 ? `${ids.slice(0, 2).join(', ')} and ${ids.length - 2} more` : ids.join(', ');
}

/**
 * The words of a run, or of a play, that use a result as it was trained.
 * @param model how a command line is to name the model that was trained
 * @param result likewise the adapter or the model
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

/** What pages call things. */
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
