/** Held-out prompts of a supervised training run, and the model's replies to them while it trains. */
import { createSample, type Sample } from '../../src/runs/training/samples.js';
import type { Conversation } from '../dataset/read-dataset.js';
import { openSampler, type Sampler, type SamplerSettings } from '../engine/sampler.js';
import type { Parameter } from '../engine/training-session.js';
import type { TrainConfig } from './train-config.js';

/** Chooses evenly spaced held-out prompts; for pairs, together with the chosen reply. */
export function chooseSamplePrompts(
  conversations: readonly Conversation[],
  { objective, samples }: TrainConfig,
): readonly Conversation[] {
  const isPaired = objective.kind !== 'sft';
  const usable = conversations.filter(({ weight }, i) => weight > 0 && (!isPaired || i % 2 === 0));
  const count = Math.min(samples, usable.length);
  return Array.from({ length: count }, (_, i) => usable[Math.floor((i * usable.length) / count)]!);
}

type SamplerModel = Omit<SamplerSettings, 'temperature' | 'maxTokens' | 'constrained'>;

/** Samples the most probable tokens, so resumed runs give the same replies. The first `answer` loads the model. */
export function openPromptSampler(model: SamplerModel, conversations: readonly Conversation[]) {
  let pending: Promise<Sampler> | undefined;
  return {
    async answer(parameters: readonly Parameter[], isStopped: () => boolean): Promise<readonly Sample[]> {
      pending ??= openSampler({ ...model, temperature: 0, maxTokens: 128, constrained: false });
      const sampler = await pending;
      sampler.refresh(parameters);
      const prompts = conversations.map(({ messages }) => ({ messages, seed: 0 }));
      const replies = await sampler.answer(prompts, isStopped);
      return replies.map(({ text }, i) => {
        const { completion, messages } = conversations[i]!;
        const prompt = messages.map(({ content }) => content).join('\n\n');
        return createSample([{ prompt, reply: text }], { expected: completion });
      });
    },
    close: async () => (await pending)?.close(),
  };
}
