/** How many calls and tokens a run will ask of its model, and what they cost. */
import { isLanguageModel } from '../config/config.js';
import type { Assembly } from '../experiment/assemble.js';
import { formatCompact } from '../format/numbers.js';
import { type Finding, found } from './findings.js';
import type { PromptForecast } from './prompt-forecast.js';

/** `expected`: without corrections; `most`: where every correction is needed. */
interface Amount {
  readonly expected: number;
  readonly most: number;
}

/** What all repeats take together. */
export interface RunEstimate {
  readonly calls: Amount;
  readonly promptTokens: Amount;
  readonly completionTokens: Amount;
  /** In the currency of `model.price`; absent without one. No prompt cache is counted on. */
  readonly cost?: Amount;
}

function runEstimate(
  { config, model }: Pick<Assembly, 'config' | 'model'>,
  { answer: { most: answer }, longest, total }: PromptForecast,
): RunEstimate | undefined {
  if (!isLanguageModel(config.model)) return undefined;
  const { candidates, corrections, iterations, repeats } = config;
  const calls = iterations * candidates * repeats;
  // Where all candidates are asked for at once, their prompt is read once.
  const prompts = total * repeats * (model.givesSeveral ? 1 : candidates);
  const maxTokens = 'maxTokens' in config.model ? config.model.maxTokens : undefined;
  const longestAnswer = Math.max(answer, maxTokens ?? answer);
  const asked = { expected: calls, most: calls * (1 + corrections) };
  const promptTokens = {
    expected: prompts,
    most: total * repeats * candidates + calls * corrections * longest.corrected,
  };
  const completionTokens = { expected: calls * answer, most: asked.most * longestAnswer };
  const price = 'price' in config.model ? config.model.price : undefined;
  if (price === undefined) return { calls: asked, promptTokens, completionTokens };
  const costOf = (which: keyof Amount) =>
    (promptTokens[which] * price.input + completionTokens[which] * price.output) / 1e6;
  const cost = { expected: costOf('expected'), most: costOf('most') };
  return { calls: asked, promptTokens, completionTokens, cost };
}

/** The same as a finding; a control costs none of it. */
export function estimateRun(
  assembly: Pick<Assembly, 'config' | 'model'>,
  forecast: PromptForecast,
): Finding & { readonly estimate?: RunEstimate } {
  const estimate = runEstimate(assembly, forecast);
  const { iterations, repeats } = assembly.config;
  if (estimate === undefined)
    return found('estimate', `${iterations * repeats} iterations; no tokens, no cost`);
  const { calls, completionTokens, cost, promptTokens } = estimate;
  const parts = [
    `${calls.expected} calls (with all corrections ${calls.most})`,
    `${formatCompact(promptTokens.expected)} tokens in (${formatCompact(promptTokens.most)})`,
    `${formatCompact(completionTokens.expected)} out (${formatCompact(completionTokens.most)})`,
    ...(cost ? [`cost ${cost.expected.toPrecision(2)} (${cost.most.toPrecision(2)})`] : []),
  ];
  const about = repeats > 1 ? `all ${repeats} repeats: ` : '';
  return { ...found('estimate', `${about}about ${parts.join(', ')}`), estimate };
}
