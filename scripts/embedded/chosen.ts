/** A model's answers, of which a Gaussian process chooses the one that promises most: what a model that ranks could gain. */
import type { Assembly } from '../../src/experiment/assemble.js';
import type { LanguageModel } from '../../src/models/language-model.js';
import { parseTold, tellingOf } from '../../src/prompting/answer/telling.js';
import type { ReplayBuffer } from '../../src/rollout/replay-buffer.js';
import { createExpectedImprovement } from '../../src/search/gp.js';

/**
 * @param samples answers that each one is chosen from
 * @returns the same model; an answer that can't be read, or was evaluated, is chosen last
 */
export function choosing(
  model: LanguageModel,
  samples: number,
  { config, family }: Pick<Assembly, 'config' | 'family'>,
  buffer: ReplayBuffer,
): LanguageModel {
  const { parameters } = family;
  const telling = tellingOf(parameters, config.prompts.set);
  const expected = createExpectedImprovement();
  return {
    id: model.id,
    async generate(messages, { seeds, ...options }) {
      const [seed] = seeds as readonly [number];
      const drawn = await model.generate!(messages, {
        ...options,
        seeds: Array.from({ length: samples }, (_, i) => (seed + i * 7_919) % 2 ** 31),
      });
      const worth = await expected({
        parameters,
        history: buffer.entries,
        warmup: buffer.entries.filter(({ iteration }) => iteration === 0).length,
        noisy: config.evaluation.seeds === 'fresh',
      });
      const worths = drawn.map(({ finishReason, text }) => {
        const read = parseTold(text, telling, { finishReason, seen: (value) => buffer.find(value) });
        return read.ok ? worth(read.value) : Number.NEGATIVE_INFINITY;
      });
      return [drawn[worths.indexOf(Math.max(...worths))]!];
    },
  };
}
