/** Implements learning during a search: opens the learner that trains a run's model. */
import type { AdaptingConfig, Learning } from '../../../src/experiment/learner.js';
import { chooseDevice, freeCores } from '../../../src/models/local/engine/device.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import type { Objective } from '../../engine/objective.js';
import { orOutOfMemory, type TrainingSession } from '../../engine/training-session.js';
import { policyObjective } from '../../train/objectives/policy-objective.js';
import { openObjective } from '../learning/sessions.js';
import { openReward } from '../proposer/open-reward.js';
import { type BegunAdapter, begunAdapter, type PlannedAdapter, plannedAdapter } from './adapter-start.js';
import { objectiveOf, RunLearner } from './run-learner.js';
import { LearnerStates } from './states.js';

export const learning: Learning = {
  modules: (config) => plannedAdapter(config).lora.modules,
  async open(config, run, completed) {
    const { adapt, environment, model } = config;
    const plan = plannedAdapter(config);
    const terms = await openReward(adapt.reward);
    const threads = model.threads ?? new LearnerStates(run).threads ?? freeCores();
    const begun = await orOutOfMemory('reading the weights', () => begunAdapter(plan, config));
    const tokenizer = openTokenizer(plan.model, model.template);
    const encode = (messages: Parameters<typeof tokenizer.encodePrompt>[0]) =>
      tokenizer.encodePrompt(messages);
    const opened = await openSessions(config, plan, begun, threads);
    return new RunLearner(
      {
        ...{ config, run, threads, lora: plan.lora, parameters: begun.parameters },
        ...opened,
        rewarding: { terms, environment: environment.id, encode },
        milliseconds: () => performance.now(),
      },
      completed,
    );
  },
};

async function openSessions(
  { adapt, model }: AdaptingConfig,
  { decoder, temperature }: PlannedAdapter,
  { trainable }: BegunAdapter,
  threads: number,
) {
  const settings = objectiveOf(adapt);
  const reused = adapt.epochs > 1;
  const objective = policyObjective(settings, {
    ...{ temperature, reused, maxCompletionTokens: model.maxTokens },
    constrained: model.format !== 'text',
  });
  const device = await chooseDevice(model.device);
  const sessions: TrainingSession[] = [];
  const close = async () => {
    await Promise.all(sessions.map((session) => session.close()));
  };
  const open = async (purpose: 'train' | 'evaluate', of: Objective) => {
    const session = await openObjective({ config: decoder, trainable, device, threads }, purpose, of);
    sessions.push(session);
    return session;
  };
  const refers = 'kl' in settings && klOf(settings.kl) > 0;
  try {
    const training = await open('train', objective.objective);
    const reading = reused || refers ? await open('evaluate', objective.reading) : undefined;
    return { objective, refers, sessions: { training, reading }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const klOf = (kl: number | { readonly coefficient: number }) =>
  typeof kl === 'number' ? kl : kl.coefficient;
