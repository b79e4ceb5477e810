/** The critic's parts of a run: the model that revises, and its prompts. */
import type { Config } from '../../config/config.js';
import type { CriticConfig } from '../../config/critic.js';
import { languageModelOf } from '../../config/model.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { ParameterSpec, PolicyFamily } from '../../policies/policy.js';
import type { Demonstration } from '../../prompting/context/demonstrations.js';
import { taskContext } from '../../prompting/context/task-context.js';
import { answerFormOf } from '../../prompting/notation/grammar.js';
import type { CriticPrompts, PromptSet } from '../../prompting/templates/prompt-set.js';
import { isTable } from '../../search/moves.js';
import { languageModelIn, type Proposer, type SingleProposer } from '../proposer/proposer.js';
import { type CriticPrompter, createCriticPrompter } from './critic-prompter.js';

export interface Critic {
  readonly config: CriticConfig;
  readonly proposer: SingleProposer;
  readonly prompter: CriticPrompter;
  /** True for a language model, whose calls must not be made twice. */
  readonly isPaid: boolean;
  /** Whether the critic's server has ever answered. */
  isReached: boolean;
}

/** The critic's part of an assembly. */
export interface CriticAssembly {
  readonly prompts: CriticPrompts;
  /** Undefined if the run's own model revises. */
  readonly model: SingleProposer | undefined;
}

/** @returns undefined if nothing is revised */
export function openCritic(assembly: {
  readonly config: Config;
  /** In a replay, the model of the recorded run. */
  readonly counted?: Config['model'];
  readonly countedBeside?: Pick<Config, 'critic' | 'feedback'>;
  readonly critic?: CriticAssembly | undefined;
  readonly demonstrations: readonly Demonstration[];
  readonly environment: EnvironmentSpec;
  readonly family: PolicyFamily;
  readonly model: Proposer;
  readonly prompts: Pick<PromptSet, 'description'>;
}): Critic | undefined {
  const { config, critic, model } = assembly;
  const proposer = critic && (critic.model ?? languageModelIn(model));
  if (config.critic === undefined || proposer === undefined) return undefined;
  return {
    config: config.critic,
    proposer,
    prompter: criticPrompter({ ...assembly, critic: critic! }),
    isPaid: config.model.provider !== 'replayed' && criticModelOf(config) !== undefined,
    isReached: false,
  };
}

/** The critic's prompter alone, which needs no model. */
export function criticPrompter(
  assembly: Omit<Parameters<typeof openCritic>[0], 'model'> & { readonly critic: CriticAssembly },
): CriticPrompter {
  const { config, critic, environment, family } = assembly;
  const { distance } = config.critic!;
  // In a replay, the models of the recorded run.
  const answering = { ...config, ...assembly.countedBeside, model: assembly.counted ?? config.model };
  return createCriticPrompter({
    ...{ config: config.critic!, digits: config.memory.digits, environment },
    ...{ prompts: critic.prompts, spec: family.parameters },
    task: taskContext(assembly, answerFormOf(criticModelOf(answering), config.prompts)),
    most: mostChange(distance, family.parameters),
  });
}

/** Config of the language model that revises; undefined if a baseline does. */
export const criticModelOf = ({ critic, model }: Pick<Config, 'critic' | 'model'>) =>
  languageModelOf(critic?.model ?? model);

/** The largest allowed distance of a revision, in [0, 1]. One entry of a table may always change. */
export const mostChange = (share: number, spec: ParameterSpec): number =>
  isTable(spec) ? Math.max(share, 1 / spec.count) : share;
