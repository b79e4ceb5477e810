/** How long the prompts of a run will be, by prompts of two made-up runs: with the longest numbers and the shortest. */

import { framesOf } from '../config/feedback.js';
import type { Observation, Space } from '../environments/environment.js';
import type { Assembly } from '../experiment/assemble.js';
import { criticPrompter } from '../experiment/critic/parts.js';
import { questionsOn } from '../experiment/feedback-parts.js';
import { Prompter } from '../experiment/prompter.js';
import type { ChatMessage, ModelContext } from '../models/language-model.js';
import { fewestTokens, imageTokens, mostTokens } from '../models/reply-faults.js';
import type { ParameterSpec } from '../policies/policy.js';
import { formatParameters, formatValue } from '../prompting/answer/format.js';
import { tellingOf } from '../prompting/answer/telling.js';
import { longestRemark } from '../prompting/context/feedback.js';
import { createHistory } from '../prompting/context/history.js';
import { estimatePromptTokens, estimateTokens } from '../prompting/token-estimate.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import { type BufferEntry, createReplayBuffer, type Feedback } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
import { nothingRecorded } from '../runs/reader.js';
import { evaluatedEach } from '../search/settings.js';

export interface PromptForecast {
  readonly first: readonly ChatMessage[];
  /** The longest first ask. */
  readonly longest: {
    readonly messages: readonly ChatMessage[];
    readonly tokens: Tokens;
    /** Estimated tokens after all the corrections there may be. */
    readonly corrected: number;
    /** A bound of the tokens that any tokenizer makes of them then. */
    readonly bound: number;
  };
  /** Estimated tokens of the first asks of all iterations together, each counted once. */
  readonly total: number;
  /** Tokens of an answer: `most` with a short reason, `fewest` of the parameters alone. */
  readonly answer: Tokens;
  /** How many evaluations fit into the memory's budget, at least. */
  readonly room: number;
  /** Estimated tokens of an evaluation in the history, at most. */
  readonly entryTokens: number;
  /** The longest prompt of the critic; absent without one. */
  readonly critic?: LongestPrompt;
  /** The longest prompt of a vision model that gives feedback, its pictures included; absent without one. */
  readonly feedback?: LongestPrompt;
}

interface LongestPrompt {
  /** Estimated tokens, and those after all the corrections there may be. */
  readonly tokens: number;
  readonly corrected: number;
  /** See PromptForecast. */
  readonly bound: number;
}

/**
 * `most`: for the longest numbers, estimated on the high side where the model doesn't count. `fewest`: for the shortest
 * numbers, by the tokenizer that makes the fewest tokens of them.
 */
interface Tokens {
  readonly most: number;
  readonly fewest: number;
}

/** Prompts that are measured along a run. */
const samples = 6;

/** Whether the numbers of a made-up run are as long or as short as they get. */
type Width = 'wide' | 'narrow';
const scores: Readonly<Record<Width, number>> = { wide: -1234.56, narrow: 0 };
const reason = 'The pole falls to the right; a larger weight on its speed should catch it sooner. '.repeat(2);

type Parts = Pick<
  Assembly,
  'config' | 'critic' | 'demonstrations' | 'environment' | 'family' | 'feedback' | 'prompts' | 'imported'
>;

/** @param count the model's own count of a prompt's tokens, where there is one */
export function forecastPrompts(parts: Parts, count?: ModelContext['count']): PromptForecast {
  const { corrections: maximumCorrections, iterations } = parts.config;
  const most = (messages: readonly ChatMessage[]) => count?.(messages) ?? estimatePromptTokens(messages);
  const fewest = (messages: readonly ChatMessage[]) => count?.(messages) ?? fewestTokens(messages);
  const last = Math.max(1, iterations - turnsOf(parts) + 1);
  const begins = [
    ...new Set(Array.from({ length: samples }, (_, i) => 1 + Math.round((i * (last - 1)) / (samples - 1)))),
  ];
  const [wide, narrow] = [madeUpRun(parts, 'wide'), madeUpRun(parts, 'narrow')];
  const conversations = begins.map((begin) => conversationAt(parts, begin, wide));
  const means = conversations.map(({ asked }) => mean(asked.map(most)));
  const prompts = conversations.flatMap(({ asked }) => asked);
  const lengths = prompts.map(estimatePromptTokens);
  const longest = prompts[lengths.indexOf(Math.max(...lengths))]!;
  const { correction } = conversations[0]!;
  const corrected = [...longest, ...corrections(wide.reply, correction, maximumCorrections)];
  const critic = criticForecast(parts, wide);
  const feedback = feedbackForecast(parts, wide);
  const terse = conversationAt(parts, last, narrow).asked;
  return {
    first: conversations[0]!.asked[0]!,
    longest: {
      messages: longest,
      tokens: { most: most(longest), fewest: Math.max(...terse.map(fewest)) },
      corrected: most(corrected),
      bound: mostTokens(corrected),
    },
    total: Math.round(between(begins, means) * iterations),
    answer: {
      most: estimateTokens(wide.reply),
      // Small models of our own have a token for each number.
      fewest:
        count === undefined
          ? fewestTokens([{ role: 'assistant', content: narrow.answer }])
          : parts.family.parameters.count,
    },
    room: wide.room,
    entryTokens: wide.entryTokens,
    ...(critic && { critic }),
    ...(feedback && { feedback }),
  };
}

/** The longest prompt of a critic, by an evaluation that goes to and fro, so that no figure of it is 0. */
function criticForecast(parts: Parts, { entry, reply }: MadeUpRun): LongestPrompt | undefined {
  const { config, critic, environment } = parts;
  if (critic === undefined || config.critic === undefined) return undefined;
  const length = Math.max(
    2,
    Math.min(environment.maxSteps ?? config.evaluation.maxSteps, config.evaluation.maxSteps, 500),
  );
  const toAndFro = (space: Space, count: number) =>
    Array.from({ length: count }, (_, i) => opposite(stateOf(space, i % 3 === 0 ? 'narrow' : 'wide'), i % 2));
  const episode: EpisodeRecord = {
    ...{ iteration: 0, candidate: 0, episode: 0, seed: 0, terminated: true, truncated: false },
    observations: toAndFro(environment.observationSpace, length + 1),
    actions: toAndFro(environment.actionSpace, length),
    rewards: Array.from({ length }, (_, i) => (i % 2 === 0 ? -12.3456 : 12.3456)),
  };
  const revised = { ...entry(1), returns: [0, 0] };
  const episodes = [episode, { ...episode, terminated: false, truncated: true }];
  const iterations = config.iterations;
  const { formatCorrection, messages } = criticPrompter({ ...parts, critic }).prompt({
    ...{ iteration: iterations, iterations, revised, episodes, best: revised },
  });
  const failure = { kind: 'too-far', distance: 0.123, most: 0.123 } as const;
  const corrected = [...messages, ...corrections(reply, formatCorrection(failure), config.corrections)];
  return {
    tokens: estimatePromptTokens(messages),
    corrected: estimatePromptTokens(corrected),
    bound: mostTokens(corrected),
  };
}

/** The longest prompt of a vision model. */
function feedbackForecast(parts: Parts, { entry }: MadeUpRun): LongestPrompt | undefined {
  const { config, feedback } = parts;
  if (feedback?.prompts === undefined || config.feedback === undefined) return undefined;
  const pictures = framesOf(config.feedback) * imageTokens;
  const { formatCorrection, messages } = questionsOn(parts, config.feedback, feedback).prompt({
    entry: { ...entry(config.iterations), returns: [scores.wide, scores.wide] },
    ...{ episode: 0, record: episodeOf(parts, 'wide'), isBest: true },
  });
  const said = `rating: 3\nremark: ${reason}`;
  const failure = { kind: 'ambiguous', readings: [reason, reason] } as const;
  const corrected = [...messages, ...corrections(said, formatCorrection(failure), config.corrections)];
  return {
    tokens: pictures + estimatePromptTokens(messages),
    corrected: pictures + estimatePromptTokens(corrected),
    bound: pictures + mostTokens(corrected),
  };
}

/** The observation with its numbers below 0, every second time. */
const opposite = (state: Observation, odd: number): Observation =>
  typeof state === 'object' && odd === 1 ? state.map((value) => -value) : state;

/** Iterations of a conversation; 1 where each begins anew. */
function turnsOf({ config }: Parts): number {
  const { conversation } = config.prompts;
  return conversation === 'fresh' ? 1 : conversation.turns;
}

/** The prompts of a conversation that begins at an iteration, or of that iteration alone. */
function conversationAt(parts: Parts, begin: number, { entry, episode, reply, room }: MadeUpRun) {
  const { config, imported } = parts;
  const turns = turnsOf(parts);
  const perIteration = config.memory.ofGroup === undefined ? evaluatedEach(config) : 1;
  const before = config.warmup.policies + imported.length + (begin - 1) * perIteration;
  const held = Math.min(before, Math.max(1, room));
  // Numbered so that each counts as the best of an iteration of its own.
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

/** What a made-up run is made of. */
interface MadeUpRun {
  readonly entry: (iteration: number) => BufferEntry;
  readonly episode: EpisodeRecord;
  readonly answer: string;
  readonly reply: string;
  readonly room: number;
  readonly entryTokens: number;
}

function madeUpRun(parts: Parts, width: Width): MadeUpRun {
  const { evaluation, feedback, memory, prompts } = parts.config;
  const isTold = (iteration: number) =>
    feedback !== undefined && iteration > 0 && iteration % feedback.every === 0;
  // A line of an evaluation that racing cut short tells how many episodes were played: all but one at most.
  const cut = width === 'wide' && evaluation.racing !== undefined;
  const spec = parts.family.parameters;
  const telling = tellingOf(spec, prompts.set);
  const value = parameterOf(spec, width);
  const parameters = Array.from({ length: spec.count }, () => value);
  const answer = formatParameters(telling.tell(parameters), telling.spec);
  const episode = episodeOf(parts, width);
  const history = createHistory({ telling, memory, trajectory: () => episode });
  const entry = (iteration: number): BufferEntry => ({
    iteration,
    group: iteration,
    candidate: 0,
    source: 'proposal',
    parameters,
    returns: cut ? Array.from({ length: evaluation.episodes - 1 }, () => 0) : [],
    lengths: [],
    score: scores[width],
    ...(cut && { planned: evaluation.episodes }),
    ...(width === 'wide' && isTold(iteration) && { feedback: longestFeedback(feedback!.from) }),
  });
  const entryTokens = history.tokens(entry(1));
  return {
    entry,
    episode,
    answer,
    reply: width === 'wide' ? `${answer}\n${reason}` : answer,
    room: Math.floor(memory.tokens / entryTokens),
    entryTokens,
  };
}

const longestFeedback = (from: Feedback['from']): Feedback => ({
  ...{ from, episode: 0, rating: 5 },
  remark: 'w '.repeat(longestRemark / 2).trim(),
});

function corrections(reply: string, correction: string, count: number): readonly ChatMessage[] {
  return Array.from({ length: count }, (): ChatMessage[] => [
    { role: 'assistant', content: reply },
    { role: 'user', content: correction },
  ]).flat();
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean of a curve through points with straight lines between them. */
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
    outcome: { kind: 'accepted', parameters: [] },
    completion: { text, finishReason: 'stop', usage: {}, latencyMs: 0, retries: 0 },
    time: '',
  };
}

function parameterOf({ low, high, decimals, choices }: ParameterSpec, width: Width): number {
  const length = (value: number) => formatValue(value, decimals).length;
  const values = choices ?? [low, high, ...(low <= 0 && high >= 0 ? [0] : [])];
  const byLength = values.toSorted((a, b) => length(a) - length(b));
  return width === 'wide' ? byLength.at(-1)! : byLength[0]!;
}

/** A trajectory as long and as wide as there can be, within reason; or of one step. */
function episodeOf({ config, environment }: Parts, width: Width): EpisodeRecord {
  const length =
    config.memory.trajectories === 'none' || width === 'narrow'
      ? 1
      : Math.min(environment.maxSteps ?? config.evaluation.maxSteps, config.evaluation.maxSteps, 500);
  const repeated = <T>(value: T, count: number) => Array.from({ length: count }, () => value);
  return {
    iteration: 0,
    candidate: 0,
    episode: 0,
    seed: 0,
    observations: repeated(stateOf(environment.observationSpace, width), length + 1),
    actions: repeated(stateOf(environment.actionSpace, width), length),
    rewards: repeated(width === 'wide' ? -12.3456 : 0, length),
    terminated: false,
    truncated: true,
  };
}

function stateOf(space: Space, width: Width): Observation {
  switch (space.kind) {
    case 'discrete':
      return (space.start ?? 0) + (width === 'wide' ? space.n - 1 : 0);
    case 'tuple':
      return space.spaces.map(({ n, start = 0 }) => start + (width === 'wide' ? n - 1 : 0));
    case 'text':
      return '';
    case 'box':
      return space.low.map(() => (width === 'wide' ? -12.3456789 : 0));
  }
}
