/** Estimates the calls, tokens and cost of a run. */

import { formatCompact, plural } from '../../base/text/numbers.js';
import { budgetOf, criticModelOf, evaluationsOf, revisionsOf } from '../../config/critic.js';
import { languageModelOf, type ModelConfig, membersOf } from '../../config/model.js';
import type { PriceConfig } from '../../models/settings.js';
import { sum } from '../../statistics/descriptive.js';
import { languageModelIn } from '../proposer.js';
import type { Assembly } from '../setup/assemble.js';
import { type Finding, found } from './findings.js';
import type { PromptSize } from './prompt-size.js';

/** `expected`: without corrections; `most`: with all corrections, and the longest replies. */
interface Amount {
  readonly expected: number;
  readonly most: number;
}

/** Totals of a run. */
export interface RunEstimate {
  readonly calls: Amount;
  readonly promptTokens: Amount;
  readonly completionTokens: Amount;
  /** Absent if there is no price. Assumes that no prompts are cached. */
  readonly cost?: Amount;
  /** Month of the list prices from which the cost is computed. */
  readonly listed?: string;
}

type Parts = Pick<Assembly, 'config' | 'imported' | 'model'>;

export function estimateRun(
  assembly: Parts,
  size: PromptSize,
): Finding & { readonly estimate?: RunEstimate } {
  const asked = [proposals(assembly, size), revisions(assembly, size)].filter((one) => one !== undefined);
  if (asked.length === 0)
    return found('estimate', `${plural(assembly.config.iterations, 'iteration')}; no tokens, no cost`);
  const estimate = asked.reduce(sumOf);
  const { calls, completionTokens, cost, listed, promptTokens } = estimate;
  const parts = [
    `${plural(calls.expected, 'call')} (${calls.most} with all corrections)`,
    `${formatCompact(promptTokens.expected)} tokens in (${formatCompact(promptTokens.most)})`,
    `${formatCompact(completionTokens.expected)} out (${formatCompact(completionTokens.most)})`,
    ...(cost
      ? [
          `cost ${cost.expected.toPrecision(2)} (${cost.most.toPrecision(2)})${listed === undefined ? '' : ` at the list prices of ${listed}`}`,
        ]
      : []),
  ];
  return { ...found('estimate', `about ${parts.join(', ')}`), estimate };
}

function proposals({ config, imported, model }: Parts, size: PromptSize): RunEstimate | undefined {
  const reader = languageModelOf(config.model);
  if (reader === undefined) return undefined;
  const { candidates, iterations } = config;
  const calls = iterations * candidates;
  // If one call gives several candidates, their prompt is processed only once.
  const prompts = languageModelIn(model)?.givesSeveral ? iterations : calls;
  const share = shareOf(config.model) * playedShare({ config, imported });
  return estimateOf(config, reader, size, { calls, prompts, share, tokens: size.mean });
}

/** The critic's prompts are assumed to be as long as the longest prompt for proposals. */
function revisions({ config, imported }: Parts, size: PromptSize): RunEstimate | undefined {
  const reader = config.critic && criticModelOf(config);
  if (reader === undefined) return undefined;
  const calls = revisionsOf(config);
  const share = playedShare({ config, imported });
  return estimateOf(config, reader, size, { calls, prompts: calls, share, tokens: size.last });
}

/** @param share of the calls that are expected @param tokens in a prompt */
function estimateOf(
  { corrections }: Parts['config'],
  reader: object,
  { answer, correction }: PromptSize,
  asked: {
    readonly calls: number;
    readonly prompts: number;
    readonly share: number;
    readonly tokens: number;
  },
): RunEstimate {
  const { prompts, share, tokens } = asked;
  const maxTokens = 'maxTokens' in reader ? (reader.maxTokens as number | undefined) : undefined;
  const calls = { expected: Math.round(asked.calls * share), most: asked.calls * (1 + corrections) };
  const corrected = (tokens + corrections * correction) * asked.calls * corrections;
  const promptTokens = {
    expected: prompts * share * tokens,
    most: asked.calls * tokens + corrected,
  };
  const completionTokens = {
    expected: calls.expected * answer,
    most: calls.most * Math.max(answer, maxTokens ?? 0),
  };
  return priced(reader, { calls, promptTokens, completionTokens });
}

/** Share of iterations that `limits.evaluations` allows if every proposal is evaluated. */
function playedShare({ config, imported }: Pick<Assembly, 'config' | 'imported'>): number {
  const first = config.warmup.policies + imported.length;
  return (budgetOf(config, first) - first) / evaluationsOf(config);
}

/** Expected share of candidates that the language model proposes. */
function shareOf(model: ModelConfig): number {
  const members = membersOf(model);
  const weights = members.map(({ weight }) => weight);
  const own = members.findIndex(({ config }) => languageModelOf(config) !== undefined);
  return weights[own]! / sum(weights);
}

/** Adds the cost, if the model has a price. */
function priced(reader: object, estimate: RunEstimate): RunEstimate {
  const { completionTokens, promptTokens } = estimate;
  const price = 'price' in reader ? (reader.price as PriceConfig | undefined) : undefined;
  if (price === undefined) return estimate;
  const costOf = (which: keyof Amount) =>
    (promptTokens[which] * price.input + completionTokens[which] * price.output) / 1e6;
  const cost = { expected: costOf('expected'), most: costOf('most') };
  return { ...estimate, cost, ...(price.listed && { listed: price.listed }) };
}

function sumOf(a: RunEstimate, b: RunEstimate): RunEstimate {
  const add = (one: Amount, other: Amount) => ({
    expected: one.expected + other.expected,
    most: one.most + other.most,
  });
  const listed = a.listed ?? b.listed;
  const costs = [a.cost, b.cost].filter((cost) => cost !== undefined);
  return {
    calls: add(a.calls, b.calls),
    promptTokens: add(a.promptTokens, b.promptTokens),
    completionTokens: add(a.completionTokens, b.completionTokens),
    ...(costs.length > 0 && { cost: costs.reduce(add) }),
    ...(listed && { listed }),
  };
}
