/** Estimates the length of a run's prompts, using two made-up runs. */

import { criticPrompter } from '../experiment/critic-parts.js';
import { Prompter } from '../experiment/prompter.js';
import type { ChatMessage, ModelContext } from '../models/language-model.js';
import { fewestTokens, mostTokens } from '../models/reply-faults.js';
import { estimatePromptTokens, estimateTokens } from '../prompting/token-estimate.js';
import { createReplayBuffer } from '../rollout/replay-buffer.js';
import { nothingRecorded } from '../runs/reader.js';
import { evaluatedEach } from '../search/settings.js';
import { largest } from '../statistics/descriptive.js';

import { type MadeUpRun, madeUpRun, type Parts, swingingEpisode, type Width } from './made-up-run.js';

export interface PromptForecast {
  readonly first: readonly ChatMessage[];
  /** The longest prompt, without corrections. */
  readonly longest: {
    readonly messages: readonly ChatMessage[];
    readonly tokens: Tokens;
    /** Estimated number of tokens after all possible corrections. */
    readonly corrected: number;
    /** Upper bound on that number for any tokenizer. */
    readonly bound: number;
  };
  /** Estimated prompt tokens of a run with one prompt per iteration and no corrections. */
  readonly total: number;
  /** Tokens of an answer: `most` with a short explanation, `fewest` with parameters only. */
  readonly answer: Tokens;
  /** Number of evaluations that fit into `memory.tokens` if all are as long as possible. */
  readonly room: number;
  /** Estimated tokens of the longest possible evaluation in the history. */
  readonly entryTokens: number;
  readonly critic?: LongestPrompt;
}

export interface LongestPrompt {
  readonly tokens: Tokens;
  readonly corrected: number;
  readonly bound: number;
  readonly answer: Tokens;
}

/**
 * `most`: a high estimate for the longest numbers. `fewest`: a low estimate for the shortest numbers. For prompts,
 * exact counts replace the estimates if the model counts tokens.
 */
export interface Tokens {
  readonly most: number;
  readonly fewest: number;
}

/** Contexts of a run's models, if known. A critic without its own model uses the run's model. */
export interface Contexts {
  readonly model?: ModelContext | undefined;
  readonly critic?: ModelContext | undefined;
}

type Count = ModelContext['count'];
type Runs = readonly [wide: MadeUpRun, narrow: MadeUpRun];

/** Maximum number of iterations at which prompts are measured. */
const samples = 6;

/** @param contexts contexts of the models, whose tokenizers are used if available */
export function forecastPrompts(parts: Parts, contexts: Contexts = {}): PromptForecast {
  const count = contexts.model?.count;
  const { corrections: maximumCorrections, iterations } = parts.config;
  const most = (messages: readonly ChatMessage[]) => count?.(messages) ?? estimatePromptTokens(messages);
  const fewest = (messages: readonly ChatMessage[]) => count?.(messages) ?? fewestTokens(messages);
  const measured = [
    ...new Set(
      Array.from({ length: samples }, (_, i) => 1 + Math.round((i * (iterations - 1)) / (samples - 1))),
    ),
  ];
  const runs: Runs = [madeUpRun(parts, 'wide'), madeUpRun(parts, 'narrow')];
  const [wide, narrow] = runs;
  const asked = measured.map((iteration) => promptAt(parts, iteration, wide));
  const prompts = asked.map(({ messages }) => messages);
  const lengths = prompts.map(estimatePromptTokens);
  const longest = prompts[lengths.indexOf(largest(lengths))]!;
  const { correction } = asked[0]!;
  const corrected = [...longest, ...corrections(wide.reply, correction, maximumCorrections)];
  const critic = criticForecast(parts, runs, contexts.critic?.count);
  const terse = promptAt(parts, iterations, narrow).messages;
  return {
    first: prompts[0]!,
    longest: {
      messages: longest,
      tokens: { most: most(longest), fewest: fewest(terse) },
      corrected: most(corrected),
      bound: mostTokens(corrected),
    },
    total: Math.round(between(measured, prompts.map(most)) * iterations),
    answer: answerOf(parts, runs, count),
    room: wide.room,
    entryTokens: wide.entryTokens,
    ...(critic && { critic }),
  };
}

function answerOf({ family }: Parts, [wide, narrow]: Runs, count: Count): Tokens {
  // Models that count tokens may use a single token per number, as this project's small models do.
  const fewest = count === undefined ? fewestOf(narrow.answer) : family.parameters.count;
  return { most: estimateTokens(wide.reply), fewest };
}

const fewestOf = (content: string) => fewestTokens([{ role: 'assistant', content }]);

function criticForecast(parts: Parts, [wide, narrow]: Runs, count: Count): LongestPrompt | undefined {
  const { config, critic } = parts;
  if (critic === undefined || config.critic === undefined) return undefined;
  const { iterations } = config;
  const prompter = criticPrompter({ ...parts, critic });
  const promptOf = ({ entry }: MadeUpRun, width: Width) => {
    const episode = swingingEpisode(parts, width);
    const cut = { ...episode, terminated: false, truncated: true };
    const episodes = width === 'wide' ? [episode, cut] : [episode];
    const revised = { ...entry(1), returns: episodes.map(() => 0) };
    return prompter.prompt({
      ...{ iteration: iterations, iterations, episodes, revised, best: revised },
    });
  };
  const { formatCorrection, messages } = promptOf(wide, 'wide');
  const failure = { kind: 'too-far', distance: 0.123, most: 0.123 } as const;
  const corrected = corrections(wide.reply, formatCorrection(failure), config.corrections);
  const answer = answerOf(parts, [wide, narrow], count);
  return { ...longestOf(messages, corrected, promptOf(narrow, 'narrow').messages, count), answer };
}

function longestOf(
  wide: readonly ChatMessage[],
  corrections: readonly ChatMessage[],
  narrow: readonly ChatMessage[],
  count: Count,
): Omit<LongestPrompt, 'answer'> {
  const corrected = [...wide, ...corrections];
  const estimate = count ?? estimatePromptTokens;
  return {
    tokens: { most: estimate(wide), fewest: (count ?? fewestTokens)(narrow) },
    corrected: estimate(corrected),
    bound: mostTokens(corrected),
  };
}

function promptAt(parts: Parts, iteration: number, { entry, episode, room }: MadeUpRun) {
  const { config, imported } = parts;
  const perIteration = config.memory.ofGroup === undefined ? evaluatedEach(config) : 1;
  const before = config.warmup.policies + imported.length + (iteration - 1) * perIteration;
  const held = Math.min(before, Math.max(1, room));
  // Each made-up entry is the best of its own iteration.
  const entries = Array.from({ length: held }, (_, i) => entry(iteration + i - held));
  const buffer = createReplayBuffer(entries);
  const episodes = entries.map((one) => ({ ...episode, iteration: one.iteration }));
  const prompter = new Prompter({ ...parts, buffer, recorded: { ...nothingRecorded, episodes } });
  const messages = prompter.messages(iteration);
  return { messages, correction: prompter.formatCorrection({ kind: 'missing' }) };
}

function corrections(reply: string, correction: string, count: number): readonly ChatMessage[] {
  return Array.from({ length: count }, (): ChatMessage[] => [
    { role: 'assistant', content: reply },
    { role: 'user', content: correction },
  ]).flat();
}

/** Mean of a piecewise linear curve over the range of its points. */
function between(points: readonly number[], values: readonly number[]): number {
  if (points.length === 1) return values[0]!;
  const area = points
    .slice(1)
    .reduce((sum, point, i) => sum + ((values[i]! + values[i + 1]!) / 2) * (point - points[i]!), 0);
  return area / (points.at(-1)! - points[0]!);
}
