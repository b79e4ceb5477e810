import { criticModelOf } from '../../../config/critic.js';
import { waitOnClock } from '../../../models/hosted/retry.js';
import { moduleModel } from '../../../models/user-model.js';
import { taskContext } from '../../../prompting/context/task-context.js';
import { encodingFor } from '../../../prompting/notation/encoding.js';
import { answerFormOf } from '../../../prompting/notation/grammar.js';
import { loadCriticPrompts } from '../../../prompting/templates/prompt-set.js';
import { loadHelpers } from '../../../prompting/templates/rendering.js';
import type { PrepareStage } from '../../prepared-stage.js';
import { createProposer, inMember, languageModelIn, type SingleProposer } from '../../proposer.js';
import { createCritic } from './critic.js';
import { createCriticPrompter, mostChange } from './prompter.js';

export const prepareCritic: PrepareStage = async ({ critic, model, policy, prompts }, env, own) => {
  if (critic === undefined) return undefined;
  const userHelpers = prompts.helpers === undefined ? undefined : await loadHelpers(prompts.helpers);
  const ownPolicy = policy.kind === 'module';
  const loaded = loadCriticPrompts({ set: critic.prompts, ownPolicy, userHelpers });
  const { model: config } = critic;
  // In a replay, the recording answers the critic's calls too.
  const proposer =
    config === undefined || model.provider === 'replayed'
      ? undefined
      : (own.critic ??
        (await inMember<SingleProposer>('critic.model', async () =>
          config.provider === 'module' ? moduleModel(config) : createProposer(config, env, waitOnClock),
        )));
  return {
    hash: loaded.hash,
    ...(config && { model: { field: 'critic.model', config, proposer } }),
    open(run) {
      const { environment, family } = run;
      const reviser = proposer ?? languageModelIn(run.model);
      if (reviser === undefined) return undefined;
      // In a replay, the recorded run's models determine the answer form.
      const answering = { ...run.config, ...run.countedBeside, model: run.counted };
      return createCritic({
        config: critic,
        proposer: reviser,
        // Revisions of parameters are always complete vectors.
        prompter: createCriticPrompter({
          config: critic,
          environment,
          prompts: loaded,
          encoding: encodingFor(family, 'numeric'),
          task: taskContext(run, answerFormOf(criticModelOf(answering), prompts)),
          most: mostChange(critic.distance, family.parameters),
        }),
        isPaid: model.provider !== 'replayed' && criticModelOf(run.config) !== undefined,
      });
    },
  };
};
