/** The proposers of the runs: searches, and a model that answers prompts. */

import { createGenerator } from '../../../src/base/random/generator.js';
import type { LanguageModel } from '../../../src/models/language-model.js';
import { createLocalModel } from '../../../src/models/local/process/local-model.js';
import { localSchema } from '../../../src/models/local/settings.js';
import { answerGrammar } from '../../../src/prompting/notation/grammar.js';
import type { Baseline } from '../../../src/proposers/baseline.js';
import type { Proposer } from './runs.js';

export function searchProposer(search: Baseline): Proposer {
  return {
    async propose({ seeds, task }) {
      const randoms = seeds.map((seed) => createGenerator(seed));
      if (search.proposeGroup !== undefined) return search.proposeGroup(task, randoms);
      return Promise.all(randoms.map((random) => search.propose(task, random)));
    },
  };
}

export interface AskedModel extends Proposer {
  /** Numbers of answers so far, and of those that could be read. */
  readonly counts: { readonly asked: number; readonly valid: number };
  close(): Promise<void>;
}

/**
 * Loads a model, on one thread.
 * @param directory directory of the model
 * @param format `constrained`: every answer that ends is valid
 */
export async function askedModel(
  directory: string,
  settings: {
    readonly format: 'constrained' | 'text';
    readonly temperature: number;
    readonly maxTokens: number;
  },
): Promise<AskedModel> {
  const fixed = { provider: 'local', path: directory, threads: 1, device: 'cpu' };
  const model: LanguageModel = createLocalModel(localSchema.parse({ ...fixed, ...settings }));
  await model.open?.();
  const counts = { asked: 0, valid: 0 };
  return {
    counts,
    async propose({ encoding, prompt, seeds }) {
      const completions = await model.generate(prompt, { seeds, grammar: answerGrammar(encoding.spec) });
      const proposals = completions.flatMap(({ constrained, finishReason, text }) => {
        const answer = encoding.read(text, { constrained, finishReason });
        return answer.ok ? [answer.value] : [];
      });
      counts.asked += completions.length;
      counts.valid += proposals.length;
      return proposals;
    },
    close: async () => model.close?.(),
  };
}
