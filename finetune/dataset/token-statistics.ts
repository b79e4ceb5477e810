/** Estimates the token lengths of examples, and computes statistics of a dataset's splits. */
import { groupBy } from '../../src/base/grouped.js';
import { estimateTokens } from '../../src/prompting/token-estimate.js';
import { largest } from '../../src/statistics/descriptive.js';
import { completionsOf, type Example } from './example.js';

/** Length in tokens, without the tokens that a chat template adds. */
export interface ExampleLength {
  readonly prompt: number;
  /** For a pair, the longer reply. */
  readonly completion: number;
}

/** Estimates lengths without a tokenizer; the estimates tend to be too high. Measures each distinct prompt once. */
export function measureLengths(examples: readonly Example[]): ReadonlyMap<Example, ExampleLength> {
  const lengthByPrompt = new Map<string, number>();
  const promptLength = ({ prompt, lineage }: Example): number => {
    const cached = lengthByPrompt.get(lineage.prompt);
    if (cached !== undefined) return cached;
    const length = prompt.reduce((sum, { content }) => sum + estimateTokens(content), 0);
    lengthByPrompt.set(lineage.prompt, length);
    return length;
  };
  return new Map(
    examples.map((example) => [
      example,
      { prompt: promptLength(example), completion: largest(completionsOf(example).map(estimateTokens)) },
    ]),
  );
}

/** The median uses the nearest rank, so it is a value from the data. */
export interface Distribution {
  readonly least: number;
  readonly median: number;
  readonly most: number;
}

function distributionOf(values: readonly number[]): Distribution | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  return { least: sorted[0]!, median: sorted[Math.ceil(sorted.length / 2) - 1]!, most: sorted.at(-1)! };
}

export interface SplitStatistics {
  readonly examples: number;
  readonly prompts: number;
  /** Undefined if there are no examples, like `completionTokens` and `history`. */
  readonly promptTokens?: Distribution | undefined;
  readonly completionTokens?: Distribution | undefined;
  /** Number of evaluations that each prompt lists; for demonstrations, of previous turns. */
  readonly history?: Distribution | undefined;
}

export function splitStatistics(
  examples: readonly Example[],
  lengths: ReadonlyMap<Example, ExampleLength>,
): SplitStatistics {
  const distribution = (value: (example: Example) => number) => distributionOf(examples.map(value));
  return {
    examples: examples.length,
    prompts: new Set(examples.map(({ lineage }) => lineage.prompt)).size,
    promptTokens: distribution((example) => lengths.get(example)!.prompt),
    completionTokens: distribution((example) => lengths.get(example)!.completion),
    history: distribution(({ lineage }) => lineage.history),
  };
}

export function countBy<T>(items: readonly T[], key: (item: T) => string): Record<string, number> {
  return Object.fromEntries([...groupBy(items, key)].map(([name, group]) => [name, group.length]));
}
