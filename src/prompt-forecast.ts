/** How long the prompts of a run will be, from prompts of a made-up run that is as wordy as it can be. */
import type { Assembly } from './assemble.js';
import type { Space } from './environments/environment.js';
import type { ChatMessage, ModelContext } from './models/language-model.js';
import { fewestTokens } from './models/token-bounds.js';
import type { ParameterSpec } from './policies/policy.js';
import { createPrompter } from './prompter.js';
import { createHistory } from './prompting/history.js';
import { formatParameters, formatValue } from './prompting/parameter-format.js';
import { estimatePromptTokens, estimateTokens } from './prompting/token-estimate.js';
import { nothingRecorded } from './recorded-run.js';
import { type BufferEntry, createReplayBuffer } from './replay-buffer.js';
import type { CallRecord, EpisodeRecord } from './run-log.js';

export interface PromptForecast {
  readonly first: readonly ChatMessage[];
  /** The longest first ask. */
  readonly longest: {
    readonly messages: readonly ChatMessage[];
    readonly tokens: Tokens;
    /** The same after all the corrections there may be. */
    readonly corrected: Tokens;
  };
  /** Estimated tokens of the first asks of all iterations together, each counted once. */
  readonly total: number;
  /** Of an answer: `most` with a short reason, `fewest` of the parameters alone. */
  readonly answer: Tokens;
  /** How many evaluations fit into the memory's budget, at least. */
  readonly room: number;
}

/** The same number twice where tokens can be counted; else an estimate on the high side, and what any tokenizer needs. */
export interface Tokens {
  readonly most: number;
  readonly fewest: number;
}

/** Prompts that are measured along a run. */
const samples = 6;
/** A score as wide as most. */
const wideScore = -1234.56;
const reason = 'The pole falls to the right; a larger weight on its speed should catch it sooner. '.repeat(2);

type Parts = Pick<Assembly, 'config' | 'environment' | 'family' | 'prompts' | 'imported'>;

/** @param count the model's own count of a prompt's tokens, where there is one */
export function forecastPrompts(parts: Parts, count?: ModelContext['count']): PromptForecast {
  const { config, family } = parts;
  const { iterations, memory } = config;
  const spec = family.parameters;
  const most = (messages: readonly ChatMessage[]) => count?.(messages) ?? estimatePromptTokens(messages);
  const measure = (messages: readonly ChatMessage[]): Tokens => ({
    most: most(messages),
    fewest: count?.(messages) ?? fewestTokens(messages),
  });
  const parameters = Array.from({ length: spec.count }, () => widestValue(spec));
  const reply = `${formatParameters(parameters, spec)}\n${reason}`;
  const episode = wideEpisode(parts);
  const history = createHistory({ spec, memory, trajectory: () => episode });
  const entry = (iteration: number): BufferEntry => ({
    iteration,
    group: iteration,
    candidate: 0,
    source: 'proposal',
    parameters,
    returns: [],
    lengths: [],
    score: wideScore,
  });
  const room = Math.floor(memory.tokens / history.tokens(entry(1)));
  const perIteration = memory.ofGroup === undefined ? config.candidates : 1;
  const { conversation } = config.prompts;
  const turns = conversation === 'fresh' ? 1 : conversation.turns;

  /** The prompts of a conversation that begins at an iteration, or of that iteration alone. */
  const conversationAt = (begin: number) => {
    const before = config.warmup.policies + parts.imported.length + (begin - 1) * perIteration;
    const held = Math.min(before, Math.max(1, room));
    // Numbered so that each counts as the best of an iteration of its own.
    const entries = Array.from({ length: held }, (_, i) => entry(begin + i - held));
    const buffer = createReplayBuffer(entries);
    const episodes = entries.map(({ iteration }) => ({ ...episode, iteration }));
    const prompter = createPrompter({ ...parts, buffer, recorded: { ...nothingRecorded, episodes } });
    const asked: (readonly ChatMessage[])[] = [];
    for (let turn = 0; turn < Math.min(turns, iterations); turn++) {
      const iteration = begin + turn;
      const messages = prompter.messages(iteration);
      asked.push(messages);
      if (turns === 1) break;
      const added = Array.from({ length: perIteration }, (_, candidate) => ({
        ...entry(iteration),
        candidate,
      }));
      buffer.append(added);
      for (const one of added) prompter.remember(one, [{ ...episode, iteration, candidate: one.candidate }]);
      prompter.finish([{ candidate: 0, calls: [accepted(messages, reply, iteration)] }], added);
    }
    return { asked, correction: prompter.formatCorrection({ kind: 'missing' }) };
  };

  const last = Math.max(1, iterations - turns + 1);
  const begins = [
    ...new Set(Array.from({ length: samples }, (_, i) => 1 + Math.round((i * (last - 1)) / (samples - 1)))),
  ];
  const conversations = begins.map(conversationAt);
  const means = conversations.map(({ asked }) => mean(asked.map(most)));
  const prompts = conversations.flatMap(({ asked }) => asked);
  const lengths = prompts.map(estimatePromptTokens);
  const longest = prompts[lengths.indexOf(Math.max(...lengths))]!;
  const { correction } = conversations[0]!;
  return {
    first: conversations[0]!.asked[0]!,
    longest: {
      messages: longest,
      tokens: measure(longest),
      corrected: measure([...longest, ...corrections(reply, correction, config.corrections)]),
    },
    total: Math.round(between(begins, means) * iterations),
    answer: {
      most: estimateTokens(reply),
      fewest: Math.min(
        fewestTokens([{ role: 'assistant', content: formatParameters(parameters, spec) }]),
        count === undefined ? Number.POSITIVE_INFINITY : spec.count,
      ),
    },
    room,
  };
}

function corrections(reply: string, correction: string, count: number): readonly ChatMessage[] {
  return Array.from({ length: count }, (): ChatMessage[] => [
    { role: 'assistant', content: reply },
    { role: 'user', content: correction },
  ]).flat();
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean of what is measured at some points and runs straight between them. */
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

function widestValue({ low, high, decimals, choices }: ParameterSpec): number {
  const width = (value: number) => formatValue(value, decimals).length;
  return (choices ?? [low, high]).reduce((a, b) => (width(b) > width(a) ? b : a));
}

/** A trajectory as long and as wide as there can be, within reason. */
function wideEpisode({ config, environment }: Parts): EpisodeRecord {
  const length =
    config.memory.trajectories === 'none'
      ? 1
      : Math.min(environment.maxSteps ?? config.evaluation.maxSteps, config.evaluation.maxSteps, 500);
  const repeated = <T>(value: T, count: number) => Array.from({ length: count }, () => value);
  return {
    iteration: 0,
    candidate: 0,
    episode: 0,
    seed: 0,
    observations: repeated(wideValueOf(environment.observationSpace), length + 1),
    actions: repeated(wideValueOf(environment.actionSpace), length),
    rewards: repeated(-12.3456, length),
    terminated: false,
    truncated: true,
  };
}

function wideValueOf(space: Space): number | readonly number[] {
  switch (space.kind) {
    case 'discrete':
      return (space.start ?? 0) + space.n - 1;
    case 'tuple':
      return space.spaces.map(({ n, start = 0 }) => start + n - 1);
    case 'box':
      return space.low.map(() => -12.3456789);
  }
}
