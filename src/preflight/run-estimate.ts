/** Estimates the calls, tokens and cost of a run. */

import type { Config } from '../config/config.js';
import { budgetOf, evaluationsOf, revisionsOf } from '../config/critic.js';
import { languageModelOf, type ModelConfig, membersOf, type SingleModelConfig } from '../config/model.js';
import type { Assembly } from '../experiment/assemble.js';
import { criticModelOf } from '../experiment/critic-parts.js';
import { languageModelIn } from '../experiment/proposer.js';
import { formatCompact, plural } from '../format/numbers.js';
import type { PriceConfig } from '../models/settings.js';
import { sum } from '../statistics/descriptive.js';
import { type Finding, found } from './findings.js';
import type { LongestPrompt, PromptForecast } from './prompt-forecast.js';

/** `expected`: without corrections; `most`: with all corrections. */
interface Amount {
  readonly expected: number;
  readonly most: number;
}

export interface RunEstimate {
  readonly calls: Amount;
  readonly promptTokens: Amount;
  readonly completionTokens: Amount;
  /** Absent if there is no price. Assumes that no prompts are cached. */
  readonly cost?: Amount;
  /** Month of the list prices from which the cost is computed. */
  readonly listed?: string;
}

function runEstimate(
  assembly: Pick<Assembly, 'config' | 'imported' | 'model'>,
  forecast: PromptForecast,
): RunEstimate | undefined {
  const proposals = proposalEstimate(assembly, forecast);
  const all = [proposals, revisionEstimate(assembly.config, forecast)].filter((one) => one !== undefined);
  return all.length === 0 ? undefined : sharesOf(all.reduce(sumOf), playedShare(assembly));
}

/** Share of iterations that `limits.evaluations` allows if every proposal is evaluated. */
function playedShare({ config, imported }: Pick<Assembly, 'config' | 'imported'>): number {
  const first = config.warmup.policies + imported.length;
  return (budgetOf(config, first) - first) / evaluationsOf(config);
}

function sharesOf(estimate: RunEstimate, share: number): RunEstimate {
  const { calls, completionTokens, cost, listed, promptTokens } = estimate;
  const of = ({ expected, most }: Amount): Amount => ({ expected: expected * share, most });
  return {
    calls: { ...calls, expected: Math.round(calls.expected * share) },
    promptTokens: of(promptTokens),
    completionTokens: of(completionTokens),
    ...(cost && { cost: of(cost) }),
    ...(listed && { listed }),
  };
}

function revisionEstimate(config: Config, { critic: forecast }: PromptForecast): RunEstimate | undefined {
  const reader = config.critic && criticModelOf(config);
  if (reader === undefined || forecast === undefined) return undefined;
  return estimateBeside(config, { reader, forecast, questions: revisionsOf(config) });
}

/** Estimates calls other than proposals. */
function estimateBeside(
  { corrections }: Pick<Config, 'corrections'>,
  {
    forecast,
    questions,
    reader,
  }: {
    readonly forecast: LongestPrompt;
    /** Number of questions, without corrections. */
    readonly questions: number;
    readonly reader: SingleModelConfig;
  },
): RunEstimate {
  const most = questions * (1 + corrections);
  const answer = forecast.answer.most;
  const maxTokens = ('maxTokens' in reader ? reader.maxTokens : undefined) ?? answer;
  return priced(reader, {
    calls: { expected: questions, most },
    promptTokens: {
      expected: questions * forecast.tokens.most,
      most: questions * (forecast.tokens.most + corrections * forecast.corrected),
    },
    completionTokens: { expected: questions * answer, most: most * Math.max(answer, maxTokens) },
  });
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

function proposalEstimate(
  { config, model }: Pick<Assembly, 'config' | 'model'>,
  { answer: { most: answer }, longest, total }: PromptForecast,
): RunEstimate | undefined {
  const reader = languageModelOf(config.model);
  if (reader === undefined) return undefined;
  const { candidates, corrections, iterations } = config;
  const share = shareOf(config.model);
  const mostCalls = iterations * candidates;
  const calls = Math.round(mostCalls * share);
  // If one call gives several candidates, their prompt is processed only once.
  const prompts = share * total * (languageModelIn(model)?.givesSeveral ? 1 : candidates);
  const maxTokens = 'maxTokens' in reader ? reader.maxTokens : undefined;
  const longestAnswer = Math.max(answer, maxTokens ?? answer);
  const asked = { expected: calls, most: mostCalls * (1 + corrections) };
  const promptTokens = {
    expected: prompts,
    most: total * candidates + mostCalls * corrections * longest.corrected,
  };
  const completionTokens = { expected: calls * answer, most: asked.most * longestAnswer };
  return priced(reader, { calls: asked, promptTokens, completionTokens });
}

/** Expected share of candidates that the language model proposes; without `switch: shares`, assumes equal shares. */
function shareOf(model: ModelConfig): number {
  const members = membersOf(model);
  const isWeighted = model.provider === 'portfolio' && model.switch === 'shares';
  const weights = members.map(({ weight }) => (isWeighted ? weight : 1));
  const own = members.findIndex(({ config }) => languageModelOf(config) !== undefined);
  return weights[own]! / sum(weights);
}

export function estimateRun(
  assembly: Pick<Assembly, 'config' | 'imported' | 'model'>,
  forecast: PromptForecast,
): Finding & { readonly estimate?: RunEstimate } {
  const estimate = runEstimate(assembly, forecast);
  if (estimate === undefined)
    return found('estimate', `${plural(assembly.config.iterations, 'iteration')}; no tokens, no cost`);
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
