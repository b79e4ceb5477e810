import type {
  ChatMessage,
  Completion,
  GenerateOptions,
  LanguageModel,
} from '../../src/models/language-model.js';

/** The first completion. */
export async function ask(
  model: LanguageModel,
  messages: readonly ChatMessage[],
  options: GenerateOptions,
): Promise<Completion> {
  const [first] = await model.generate(messages, options);
  if (first === undefined) throw new Error(`${model.id} gave no completion`);
  return first;
}
