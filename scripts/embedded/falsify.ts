/** A model that is told other scores than there are: whether it reads what it is told. */
import type { LanguageModel } from '../../src/models/language-model.js';
import { createGenerator, type RandomGenerator, shuffled } from '../../src/random/generator.js';
import type { Falsehood } from './plan.js';

/** A row of the history: a score from 0 to 99, then the parameters. */
const row = /^(\d{1,2})(?= )/;

/** The text of a prompt with the scores of its rows replaced. */
export function falsify(text: string, falsehood: Falsehood, random: RandomGenerator): string {
  const lines = text.split('\n');
  const scores = lines.flatMap((line) => row.exec(line)?.[1] ?? []);
  const told = toldScores(scores, falsehood, random);
  let next = 0;
  return lines.map((line) => line.replace(row, () => told[next++]!)).join('\n');
}

function toldScores(
  scores: readonly string[],
  falsehood: Falsehood,
  random: RandomGenerator,
): readonly string[] {
  switch (falsehood) {
    case 'permuted':
      return shuffled(scores, random);
    case 'random':
      return scores.map(() => String(random.integers(0, 100)));
    case 'constant':
      return scores.map(() => '50');
    case 'negated':
      return scores.map((score) => String(99 - Number(score)));
  }
}

/** The same model, whose users tell it falsehoods: those of a call follow from its first seed. */
export const falsified = (model: LanguageModel, falsehood: Falsehood): LanguageModel => ({
  id: model.id,
  open: async () => (await model.open?.()) ?? '',
  close: async () => model.close?.(),
  generate(messages, options) {
    const random = createGenerator(options.seeds[0]!, [9]);
    const told = messages.map((message) =>
      message.role === 'user'
        ? { ...message, content: falsify(message.content, falsehood, random) }
        : message,
    );
    return model.generate(told, options);
  },
});
