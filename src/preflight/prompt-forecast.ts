/** Estimates the length of a run's prompts, using two made-up runs. */

import { criticPrompter } from '../experiment/critic-parts.js';
import { Prompter } from '../experiment/prompter.js';
import type { ChatMessage, ModelContext } from '../models/language-model.js';
import { fewestTokens, mostTokens } from '../models/reply-faults.js';
import { estimatePromptTokens, estimateTokens } from '../prompting/token-estimate.js';
import { createReplayBuffer } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
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

/** Maximum number of iterations, or beginnings of conversations, at which prompts are measured. */
const samples = 6;

/** @param contexts contexts of the models, whose tokenizers are used if available */
export function forecastPrompts(parts: Parts, contexts: Contexts = {}): PromptForecast {
  const count = contexts.model?.count;
  const { corrections: maximumCorrections, iterations } = parts.config;
  const most = (messages: readonly ChatMessage[]) => count?.(messages) ?? estimatePromptTokens(messages);
  const fewest = (messages: readonly ChatMessage[]) => count?.(messages) ?? fewestTokens(messages);
  const last = Math.max(1, iterations - turnsOf(parts) + 1);
  const begins = [
    ...new Set(Array.from({ length: samples }, (_, i) => 1 + Math.round((i * (last - 1)) / (samples - 1)))),
  ];
  const runs: Runs = [madeUpRun(parts, 'wide'), madeUpRun(parts, 'narrow')];
  const [wide, narrow] = runs;
  const conversations = begins.map((begin) => conversationAt(parts, begin, wide));
  const means = conversations.map(({ asked }) => mean(asked.map(most)));
  const prompts = conversations.flatMap(({ asked }) => asked);
  const lengths = prompts.map(estimatePromptTokens);
  const longest = prompts[lengths.indexOf(largest(lengths))]!;
  const { correction } = conversations[0]!;
  const corrected = [...longest, ...corrections(wide.reply, correction, maximumCorrections)];
  const critic = criticForecast(parts, runs, contexts.critic?.count);
  const terse = conversationAt(parts, last, narrow).asked;
  return {
    first: conversations[0]!.asked[0]!,
    longest: {
      messages: longest,
      tokens: { most: most(longest), fewest: largest(terse.map(fewest)) },
      corrected: most(corrected),
      bound: mostTokens(corrected),
    },
    total: Math.round(between(begins, means) * iterations),
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

/** Maximum number of iterations per conversation. */
function turnsOf({ config }: Parts): number {
  const { conversation } = config.prompts;
  return conversation === 'fresh' ? 1 : conversation.turns;
}

/** Prompts of a conversation that starts at iteration `begin`; without conversations, only that iteration's prompt. */
function conversationAt(parts: Parts, begin: number, { entry, episode, reply, room }: MadeUpRun) {
  const { config, imported } = parts;
  const turns = turnsOf(parts);
  const perIteration = config.memory.ofGroup === undefined ? evaluatedEach(config) : 1;
  const before = config.warmup.policies + imported.length + (begin - 1) * perIteration;
  const held = Math.min(before, Math.max(1, room));
  // Each made-up entry is the best of its own iteration.
  const entries = Array.from({ length: held }, (_, i) => entry(begin + i - held));
  const buffer = createReplayBuffer(entries);
  const episodes = entries.map(({ iteration }) => ({ ...episode, iteration }));
  const prompter = new Prompter({ ...parts, buffer, recorded: { ...nothingRecorded, episodes } });
  const asked: (readonly ChatMessage[])[] = [];
  for (let iteration = begin; iteration < begin + Math.min(turns, config.iterations); iteration++) {
    const messages = prompter.messages(iteration);
    asked.push(messages);
    if (turns === 1) break;
    const added = Array.from({ length: perIteration }, (_, candidate) => ({
      ...entry(iteration),
      candidate,
    }));
    buffer.append(added);
    for (const one of added) prompter.remember([{ ...episode, iteration, candidate: one.candidate }]);
    prompter.finish([{ candidate: 0, calls: [accepted(messages, reply, iteration)] }], added);
  }
  return { asked, correction: prompter.formatCorrection({ kind: 'missing' }) };
}

function corrections(reply: string, correction: string, count: number): readonly ChatMessage[] {
  return Array.from({ length: count }, (): ChatMessage[] => [
    { role: 'assistant', content: reply },
    { role: 'user', content: correction },
  ]).flat();
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean of a piecewise linear curve over the range of its points. */
function between(points: readonly number[], values: readonly number[]): number {
  if (points.length === 1) return values[0]!;
  const area = points
    .slice(1)
    .reduce((sum, point, i) => sum + ((values[i]! + values[i + 1]!) / 2) * (point - points[i]!), 0);
  return area / (points.at(-1)! - points[0]!);
}

function accepted(messages: readonly ChatMessage[], text: string, iteration: number): CallRecord {
  return {
    iteration,
    candidate: 0,
    attempt: 0,
    messages,
    seed: 0,
    purpose: 'proposal',
    outcome: { kind: 'accepted', parameters: [] },
    completion: { text, finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 },
    time: '',
  };
}
