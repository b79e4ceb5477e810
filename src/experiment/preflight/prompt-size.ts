/** Renders a run's first prompt, and estimates how its prompts grow with the history. */

import { createGenerator } from '../../base/random/generator.js';
import { modelIterations } from '../../config/model.js';
import type { ChatMessage, ModelContext } from '../../models/language-model.js';
import { maxPromptTokens, minPromptTokens } from '../../models/reply-faults.js';
import { programsOf } from '../../policies/policy.js';
import { createHistory, selectedCount } from '../../prompting/context/history.js';
import { encodingFor } from '../../prompting/notation/encoding.js';
import { estimatePromptTokens, estimateTokens } from '../../prompting/token-estimate.js';
import { type BufferEntry, createReplayBuffer } from '../../rollout/replay-buffer.js';
import { emptyRun } from '../../runs/reader.js';
import { mean } from '../../statistics/descriptive.js';
import { randomPolicies } from '../evaluate.js';
import { Prompter } from '../prompter.js';
import type { Assembly } from '../setup/assemble.js';

type PromptParts = Pick<Assembly, 'config' | 'environment' | 'family' | 'prompts' | 'imported'>;

/** All numbers of tokens except `minTokens` are exact or high estimates. */
export interface PromptSize {
  /** The first prompt, after a warm-up with made-up returns. */
  readonly first: {
    readonly messages: readonly ChatMessage[];
    readonly tokens: number;
    /** Exact or a low estimate. */
    readonly minTokens: number;
  };
  /** The last prompt, whose history is the longest. */
  readonly lastTokens: number;
  /** Mean over the iterations, without corrections. */
  readonly meanTokens: number;
  /** Tokens that a correction adds to a prompt. */
  readonly correctionTokens: number;
  /** A reply that proposes a policy. */
  readonly replyTokens: number;
  /** An evaluation in the history. */
  readonly entryTokens: number;
  /** Maximum number of evaluations selected for a prompt, ignoring the token budget. */
  readonly shownCount: number;
  /** Upper bound on the tokens of the last prompt with all corrections, for any tokenizer. */
  readonly tokenBound: number;
}

/** Assumed tokens of a program; those that models write are usually shorter. */
const programTokens = 500;
/** Tokens of the explanation in a reply. */
const reasonTokens = 50;

export function promptSize(parts: PromptParts, context?: ModelContext): PromptSize {
  const { config, family } = parts;
  const { corrections, memory, prompts } = config;
  const arePrograms = programsOf(family) !== undefined;
  const tokensOf = context?.count ?? estimatePromptTokens;
  const entries = syntheticWarmUp(parts);
  const prompterFor = (shown: readonly BufferEntry[]) =>
    new Prompter({ ...parts, buffer: createReplayBuffer(shown), recorded: emptyRun });
  const prompter = prompterFor(entries);
  const messages = prompter.messages(1);
  const base = tokensOf(prompterFor([]).messages(1));
  const encoding = encodingFor(family, prompts.set);
  const sample = entries[0]?.parameters ?? family.initial(createGenerator(config.seed));
  const replyTokens = (arePrograms ? programTokens : estimateTokens(encoding.text(sample))) + reasonTokens;
  const history = createHistory({ encoding, memory, trajectory: () => undefined });
  const entryTokens = arePrograms ? programTokens : history.tokensOf({ ...emptyEntry, parameters: sample });
  const budget = memory.tokens;
  const limit = selectedCount(memory);
  const shownCount = Math.min(limit, entries.length);
  // The made-up programs are shorter than a model's.
  const measured = !arePrograms && shownCount > 0 ? (tokensOf(messages) - base) / shownCount : entryTokens;
  // An episode's length is unknown, so trajectories are assumed to fill the history.
  const perEntry = memory.trajectories === 'none' ? measured : budget;
  const sizeAt = (iteration: number) =>
    base + Math.min(budget, Math.min(limit, entries.length + (iteration - 1) * config.candidates) * perEntry);
  const correctionTokens = replyTokens + estimateTokens(prompter.formatCorrection({ kind: 'missing' }));
  const modelSpan = modelIterations(config.model, config);
  const sizes = Array.from({ length: Math.max(1, modelSpan.count) }, (_, i) => sizeAt(modelSpan.first + i));
  const lastTokens = Math.max(tokensOf(messages), sizes.at(-1)!);
  const safetyFactor = Math.max(1, maxPromptTokens(messages) / Math.max(1, estimatePromptTokens(messages)));
  return {
    first: { messages, tokens: tokensOf(messages), minTokens: (context?.count ?? minPromptTokens)(messages) },
    lastTokens,
    correctionTokens,
    replyTokens,
    entryTokens,
    shownCount: limit,
    meanTokens: mean(sizes),
    tokenBound: Math.ceil(safetyFactor * (lastTokens + corrections * correctionTokens)),
  };
}

const emptyEntry = {
  ...({ iteration: 0, group: 0, candidate: 0, source: 'warm-up', returns: [], lengths: [] } as const),
  score: -123.45,
};

/** The imported and the warm-up policies, with made-up returns. */
export function syntheticWarmUp({
  config,
  family,
  imported,
}: Pick<PromptParts, 'config' | 'family' | 'imported'>): readonly BufferEntry[] {
  const { seed } = config;
  const random = createGenerator(seed);
  const drawnPolicies = randomPolicies(config, family, imported);
  return [...imported, ...drawnPolicies].map((parameters, candidate) => {
    const score = Number(random.uniform(-100, 100).toFixed(2));
    return { ...emptyEntry, candidate, parameters, returns: [score], lengths: [1], score };
  });
}
