import type { Config, ConfigWithPolicy } from '../config/config.js';
import type { ModelConfig, SingleModelConfig } from '../config/model.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import type { LanguageModel } from '../models/language-model.js';
import type { PolicyFamily } from '../policies/policy.js';
import type { PromptSet } from '../prompting/templates/prompt-set.js';
import type { Proposer } from '../proposers/proposer.js';
import type { Stage } from './parts.js';

/** Loads a stage's prompts and its model; undefined if the config doesn't have the stage. */
export type PrepareStage = (
  config: ConfigWithPolicy,
  env: Readonly<Record<string, string | undefined>>,
  ownModels: { readonly stages?: Readonly<Record<string, LanguageModel>> | undefined },
) => Promise<PreparedStage | undefined>;

export interface PreparedStage {
  /** Hash of its prompts. */
  readonly hash: string;
  /** Its own model, if it has one. */
  readonly model?: {
    readonly field: string;
    readonly config: SingleModelConfig;
    /** Undefined in a replay, where the recording answers. */
    readonly proposer: Proposer | undefined;
  };
  /** Undefined if the run has no language model that could answer. */
  open(run: {
    readonly config: Config;
    /** In a replay, the model config of the recorded run. */
    readonly countedModel: ModelConfig;
    readonly countedStages: Readonly<Record<string, ModelConfig>>;
    readonly environment: EnvironmentSpec;
    readonly family: PolicyFamily;
    readonly proposer: Proposer;
    readonly prompts: Pick<PromptSet, 'description'>;
  }): Stage | undefined;
}
