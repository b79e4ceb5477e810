import { isBaseline, languageModelOf } from '../../../config/model.js';
import { taskContext } from '../../../prompting/context/task-context.js';
import { encodingFor } from '../../../prompting/notation/encoding.js';
import { answerFormOf } from '../../../prompting/notation/grammar.js';
import { findSet, loadPrompts } from '../../../prompting/templates/prompt-set.js';
import { loadHelpers } from '../../../prompting/templates/rendering.js';
import { baselineProposer } from '../../../proposers/baseline-proposer.js';
import { openLanguageModel, withMemberField } from '../../../proposers/create-model.js';
import { languageModelProposer } from '../../../proposers/language-model.js';
import type { Proposer } from '../../../proposers/proposer.js';
import type { PrepareStage } from '../../prepared-stage.js';
import { type CriticContext, criticContextSchema, criticCorrectionSchema } from './context.js';
import { createCriticStage } from './critic.js';
import { createCriticPrompter, maxChange } from './prompter.js';

export const prepareCritic: PrepareStage = async ({ critic, model, policy, prompts }, env, ownModels) => {
  if (critic === undefined) return undefined;
  const userHelpers = prompts.helpers === undefined ? undefined : await loadHelpers(prompts.helpers);
  const ownPolicy = policy.kind === 'module';
  const field = 'critic.prompts';
  const folder = findSet(critic.prompts, ['critic', 'programs-critic'], field);
  const schemas = [criticContextSchema, criticCorrectionSchema] as const;
  const { prompts: loaded } = loadPrompts<CriticContext>(folder, field, { ownPolicy, userHelpers }, schemas);
  const { model: config } = critic;
  const open = async (): Promise<Proposer | undefined> => {
    if (config === undefined) return undefined;
    if (ownModels.stages?.critic !== undefined) return languageModelProposer(ownModels.stages.critic);
    if (isBaseline(config)) return baselineProposer(config);
    // In a replay, the recording answers the critic's calls too.
    if (model.provider === 'replayed') return undefined;
    return languageModelProposer(await withMemberField('critic.model', () => openLanguageModel(config, env)));
  };
  const proposer = await open();
  return {
    hash: loaded.hash,
    ...(config && { model: { field: 'critic.model', config, proposer } }),
    open(run) {
      const { environment, family } = run;
      const { model: reviser } = run.proposer;
      if (proposer === undefined && reviser === undefined) return undefined;
      // In a replay, the recorded run's models determine the answer form.
      const modelConfig = languageModelOf(run.countedStages.critic ?? run.countedModel);
      return createCriticStage({
        config: critic,
        proposer: proposer ?? languageModelProposer(reviser!),
        // Revisions don't use the encoding of the `compact` prompt set.
        prompter: createCriticPrompter({
          config: critic,
          environment,
          prompts: loaded,
          encoding: encodingFor(family, 'numeric'),
          task: taskContext(run, answerFormOf(modelConfig, prompts)),
          maxDistance: maxChange(critic.distance, family.parameters),
        }),
      });
    },
  };
};
