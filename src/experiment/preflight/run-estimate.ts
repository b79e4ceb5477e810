/** Estimates the calls, tokens and cost of a run. */

import { formatCompact, plural } from '../../base/text/numbers.js';
import type { Config, ConfirmationConfig } from '../../config/config.js';
import { languageModelOf, membersOf, modelIterations } from '../../config/model.js';
import { spansOf } from '../../config/relay.js';
import { evaluationBudget, plannedEvaluations, stageRunCount, stagesOf } from '../../config/stages.js';
import type { PriceConfig } from '../../models/settings.js';
import { selectionBudget } from '../../runs/events.js';
import { sum } from '../../statistics/descriptive.js';
import type { Assembly } from '../setup/assemble.js';
import { type Finding, okFinding } from './findings.js';
import type { PromptSize } from './prompt-size.js';

/** `expected`: without corrections; `most`: with all corrections, and the longest replies. */
interface AmountRange {
  readonly expected: number;
  readonly most: number;
}

/** Totals of a run or of several. */
export interface RunEstimate {
  readonly calls: AmountRange;
  readonly promptTokens: AmountRange;
  readonly completionTokens: AmountRange;
  /** Absent if there is no price. Assumes that no prompts are cached. */
  readonly cost?: AmountRange | undefined;
  /** Month of the list prices from which the cost is computed. */
  readonly listed?: string | undefined;
}

/** Calls to one model. */
interface ModelCalls {
  readonly model: object;
  readonly calls: number;
  /** Maximum before corrections: a leg of a relay lasts up to twice as long while all returns are equal. */
  readonly maxCalls: number;
  /** Prompts that are processed: fewer than calls if one prompt yields several candidates. */
  readonly prompts: number;
  /** Share of these run early, and members of a portfolio share calls that the run is expected to make. */
  readonly share: number;
  /** Tokens in a prompt. */
  readonly tokens: number;
}

export function estimateRun(
  { config, imported, proposer }: Pick<Assembly, 'config' | 'imported' | 'proposer'>,
  size: PromptSize,
): Finding & { readonly estimate?: RunEstimate } {
  const { candidates, iterations, warmup } = config;
  const warmupCount = warmup.policies + imported.length;
  // Share of the planned evaluations that `limits.evaluations` allows, if every proposal is evaluated.
  const allowedShare = (evaluationBudget(config, warmupCount) - warmupCount) / plannedEvaluations(config);
  const askedModels: ModelCalls[] = [];
  const members = membersOf(config.model);
  const maxCount = modelIterations(config.model, { candidates, iterations: allowedShare * iterations }).count;
  const llmMember = members.find((member) => languageModelOf(member.config) !== undefined);
  if (llmMember !== undefined) {
    const { count } = modelIterations(config.model, config);
    const isRelay = config.model.provider === 'relay';
    const peers = isRelay ? [llmMember] : members;
    askedModels.push({
      model: llmMember.config,
      calls: count * candidates,
      maxCalls: Math.min(isRelay ? 2 * count : count, iterations) * candidates,
      prompts: proposer.model?.givesSeveral ? count : count * candidates,
      share: ((maxCount / Math.max(1, count)) * llmMember.weight) / sum(peers.map(({ weight }) => weight)),
      tokens: size.meanTokens,
    });
  }
  for (const stage of stagesOf(config)) {
    const model = languageModelOf(stage.model ?? config.model);
    const calls = stageRunCount(stage, config);
    // A stage's prompts are assumed to be as long as the longest prompt for proposals.
    const tokens = size.lastTokens;
    if (model !== undefined)
      askedModels.push({ model, calls, maxCalls: calls, prompts: calls, share: allowedShare, tokens });
  }
  const suffix = `${relayText(config)}${confirmationText(config.confirmation)}`;
  if (askedModels.length === 0)
    return okFinding('estimate', `${plural(iterations, 'iteration')}; no tokens, no cost${suffix}`);
  const estimate = askedModels.map((one) => estimateOf(one, config.corrections, size)).reduce(addEstimates);
  const affordable = (config.limits.cost ?? Number.POSITIVE_INFINITY) / (estimate.cost?.expected ?? 0);
  const iterationText = plural(Math.floor(affordable * maxCount), 'iteration');
  const limitText = affordable < 1 ? `; limits.cost ends the run after about ${iterationText}` : '';
  return { ...okFinding('estimate', `${estimateText(estimate)}${limitText}${suffix}`), estimate };
}

/** Describes the evaluations that the searches of a relay add, and the legs that may run past their limits. */
function relayText({ candidates, iterations, model }: Config): string {
  if (model.provider !== 'relay') return '';
  const spans = spansOf(model.relay, { candidates, iterations });
  return membersOf(model)
    .map(({ config, end, name }, i) => {
      const maxText = plural(spans[i]!.count * candidates, 'evaluation');
      if (languageModelOf(config) === undefined) return `; ${name} adds at most ${maxText} at no cost`;
      return end.calls === undefined && end.evaluations === undefined
        ? ''
        : `; ${name} lasts up to twice as long while all returns are equal`;
    })
    .join('');
}

function confirmationText({ candidates, episodes }: ConfirmationConfig): string {
  if (candidates === 0) return '';
  const most = episodes + (candidates === 1 ? 0 : selectionBudget(episodes));
  return `; confirmed in at most ${plural(most, 'episode')}`;
}

export function estimateText({ calls, completionTokens, cost, listed, promptTokens }: RunEstimate): string {
  const rangeText = ({ expected, most }: AmountRange, format: (value: number) => string) =>
    `${format(expected)} (${format(most)})`;
  const parts = [
    `${plural(calls.expected, 'call')} (${calls.most} with all corrections)`,
    `tokens in: ${rangeText(promptTokens, formatCompact)}`,
    `out: ${rangeText(completionTokens, formatCompact)}`,
    ...(cost ? [`cost: ${rangeText(cost, (value) => value.toPrecision(2))}`] : []),
  ];
  const priceText = listed === undefined ? '' : ` at the list prices of ${listed}`;
  return `about ${parts.join(', ')}${priceText}`;
}

function estimateOf(
  { calls, maxCalls: longest, prompts, model, share, tokens }: ModelCalls,
  corrections: number,
  { correctionTokens, replyTokens }: PromptSize,
): RunEstimate {
  const { maxTokens = 0, price } = model as { readonly maxTokens?: number; readonly price?: PriceConfig };
  const expected = Math.round(calls * share);
  const most = longest * (1 + corrections);
  const retryTokens = (tokens + corrections * correctionTokens) * longest * corrections;
  const promptTokens = { expected: prompts * share * tokens, most: longest * tokens + retryTokens };
  const completionTokens = {
    expected: expected * replyTokens,
    most: most * Math.max(replyTokens, maxTokens),
  };
  const costOf = (which: keyof AmountRange) =>
    price && (promptTokens[which] * price.input + completionTokens[which] * price.output) / 1e6;
  return {
    calls: { expected, most },
    promptTokens,
    completionTokens,
    cost: price && { expected: costOf('expected')!, most: costOf('most')! },
    listed: price?.listed,
  };
}

export function addEstimates(a: RunEstimate, b: RunEstimate): RunEstimate {
  const add = (one: AmountRange, other: AmountRange) => ({
    expected: one.expected + other.expected,
    most: one.most + other.most,
  });
  return {
    calls: add(a.calls, b.calls),
    promptTokens: add(a.promptTokens, b.promptTokens),
    completionTokens: add(a.completionTokens, b.completionTokens),
    cost: a.cost && b.cost ? add(a.cost, b.cost) : (a.cost ?? b.cost),
    listed: a.listed ?? b.listed,
  };
}
