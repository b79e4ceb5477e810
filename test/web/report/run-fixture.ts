/** Runs as they look on disk, made from a seed: what the loop would have logged, without running it. */
import { stringify } from 'yaml';
import { type ConfigInput, configSchema, resolveConfig } from '../../../src/config/config.js';
import type { ChatMessage, Completion } from '../../../src/models/language-model.js';
import type { ParameterSpec, ParameterVector, PolicyDescription } from '../../../src/policies/policy.js';
import type { ParseFailure } from '../../../src/prompting/answer/failure.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import type { CallRecord, UsageTotals } from '../../../src/runs/calls.js';
import type { Confirmation, LoggedEvent } from '../../../src/runs/events.js';
import { fixedSettings } from '../../../src/runs/fingerprint.js';
import { summaryOf } from '../../../src/runs/summary.js';
import { noUsage, sumUsage, usageOfCall } from '../../../src/runs/usage.js';
import { interval95 } from '../../../src/statistics/bootstrap.js';
import { mean } from '../../../src/statistics/descriptive.js';
import type { RunData } from '../../../src/web/report/data/proposals.js';

/** A task to make runs of: its policies and how good a parameter vector is. */
export interface FixtureTask {
  readonly config: ConfigInput;
  readonly parameters: ParameterSpec;
  readonly policy: PolicyDescription;
  /** Expected return at `distance` (0 … 1) from the optimum; each episode deviates by up to `noise`. */
  readonly expectedReturn: (distance: number) => number;
  readonly noise: number;
  readonly highest: number;
}

export interface FixtureOptions {
  readonly task?: FixtureTask;
  readonly seed?: number;
  readonly iterations?: number;
  /** Characters that every prompt's history is filled to, as a sliding window of the latest evaluations. */
  readonly historyCharacters?: number;
  /** Share of calls that fail. */
  readonly failureRate?: number;
  /** Replaces the stated reason of every reply. */
  readonly reason?: string;
  /** Whether the run was stopped before its confirmation. */
  readonly unconfirmed?: boolean;
}

const cartPole: FixtureTask = {
  config: {
    environment: 'CartPole-v1',
    model: { provider: 'openai', name: 'gpt-5-mini', price: { input: 0.25, cachedInput: 0.025, output: 2 } },
    target: 495,
  },
  parameters: {
    count: 10,
    kind: 'float',
    low: -6,
    high: 6,
    decimals: 1,
    names: Array.from({ length: 10 }, (_, i) =>
      i < 8 ? `weight of observation[${i >> 1}] for action ${i % 2}` : `bias of action ${i % 2}`,
    ),
  },
  policy: { kind: 'linear', bias: true, observations: 4, outputs: 2, discrete: true, firstAction: 0 },
  expectedReturn: (distance) => 9 + 505 * Math.exp(-((distance / 0.17) ** 2)),
  noise: 130,
  highest: 500,
};

export const frozenLake: FixtureTask = {
  config: {
    environment: { id: 'FrozenLake-v1', options: { map_name: '4x4' } },
    policy: { kind: 'q-table' },
    model: { provider: 'ollama', name: 'qwen3:8b' },
  },
  parameters: { count: 16, kind: 'integer', low: 0, high: 3, decimals: 0, choices: [0, 1, 2, 3] },
  policy: { kind: 'q-table', form: 'actions', states: 16, actions: ['0', '1', '2', '3'] },
  expectedReturn: (distance) => 0.74 * Math.exp(-((distance / 0.3) ** 2)),
  noise: 0.3,
  highest: 1,
};

/** A run with its warm-up, corrections, rejected proposals, errors and confirmation. */
export function runFixture(
  options: FixtureOptions = {},
): RunData & { readonly calls: readonly CallRecord[]; readonly events: readonly LoggedEvent[] } {
  const { task = cartPole, seed = 1, iterations = 100, failureRate = 0.18 } = options;
  const config = resolveConfig(configSchema.parse({ ...task.config, seed, iterations }));
  const random = seededRandom(seed);
  const optimum = drawVector(task.parameters, random);
  const evaluate = (parameters: ParameterVector, episodes: number): number[] => {
    const expected = task.expectedReturn(distanceBetween(parameters, optimum, task.parameters));
    return Array.from({ length: episodes }, () => {
      const value = expected + task.noise * (random() + random() - 1);
      return task.highest === 1
        ? Number(random() < expected)
        : Math.round(Math.min(task.highest, Math.max(8, value)));
    });
  };
  const entries: BufferEntry[] = [];
  const calls: CallRecord[] = [];
  const clock = startClock('2025-11-20T21:14:03.000Z');
  const events: LoggedEvent[] = [
    {
      time: clock(0),
      kind: 'run-started',
      run: `run-${seed}`,
      environment: config.environment.id,
      model: modelId(task),
      parameters: task.parameters.count,
      iterations,
    },
  ];
  const record = (
    parameters: ParameterVector,
    place: Pick<BufferEntry, 'iteration' | 'candidate' | 'source'>,
  ): void => {
    const returns = evaluate(parameters, config.evaluation.episodes);
    entries.push({
      ...place,
      group: 0,
      parameters,
      returns,
      lengths: returns.map(() => 100),
      score: mean(returns),
    });
  };
  for (let candidate = 0; candidate < config.warmup.policies; candidate++) {
    record(drawVector(task.parameters, random), { iteration: 0, candidate, source: 'warm-up' });
  }
  let usage: UsageTotals = noUsage;
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const messages = promptMessages(task, entries, iteration, options.historyCharacters);
    const conversation: ChatMessage[] = [...messages];
    for (let attempt = 0; attempt <= config.corrections; attempt++) {
      const proposed = improve(entries, optimum, task.parameters, iteration / iterations, random);
      const failure = random() < failureRate ? someFailure(task.parameters, random) : undefined;
      const call = makeCall({
        task,
        conversation,
        proposed,
        failure,
        iteration,
        attempt,
        random,
        time: clock(9_000),
        reason: options.reason,
      });
      calls.push(call);
      usage = sumUsage([usage, usageOfCall(call, 0, true)]);
      if (call.outcome.kind === 'accepted') {
        record(proposed, { iteration, candidate: 0, source: 'proposal' });
        break;
      }
      if (call.completion !== undefined) {
        conversation.push(
          { role: 'assistant', content: call.completion.text },
          { role: 'user', content: 'That answer could not be read. Give every parameter once, as asked.' },
        );
      }
    }
    events.push({ time: clock(400), kind: 'iteration-finished', iteration, usage });
  }
  events.push({
    time: clock(0),
    kind: 'warning',
    message: 'the server does not report cached tokens for some calls',
  });
  const best = entries.reduce((a, b) => (b.score > a.score ? b : a));
  const confirmations = options.unconfirmed === true ? [] : confirm(entries, evaluate);
  return {
    ...summaryOf(`run-${seed}`, {
      version: 1,
      run: `run-${seed}`,
      status: options.unconfirmed === true ? 'interrupted' : 'completed',
      reason: options.unconfirmed === true ? { kind: 'interrupted' } : { kind: 'iterations' },
      created: '2025-11-20T21:14:03.000Z',
      updated: clock(30_000),
      activeMs: 1_520_000,
      versions: { policyloop: '0.1.0', node: '20.19.0', commit: '52e9190c0ffee0123456789abcdef01234567890' },
      environment: config.environment.id,
      model: modelId(task),
      fingerprint: 'a3f1'.repeat(16),
      settings: fixedSettings(config),
      prompts: '77b0'.repeat(16),
      seed,
      iterations: { done: iterations, of: iterations },
      best: {
        iteration: best.iteration,
        candidate: best.candidate,
        return: best.score,
        parameters: best.parameters,
      },
      confirmations,
      usage,
    }),
    config,
    configYaml: stringify(config),
    parameters: task.parameters,
    policy: task.policy,
    entries,
    calls,
    events,
    faults: [],
  };
}

/** A small linear congruential generator (Numerical Recipes), enough for made-up data. */
function seededRandom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function startClock(start: string): (milliseconds: number) => string {
  let now = Date.parse(start);
  return (milliseconds) => {
    now += milliseconds;
    return new Date(now).toISOString();
  };
}

function modelId(task: FixtureTask): string {
  const { model } = task.config;
  return 'name' in model ? `${model.provider}/${model.name}` : model.provider;
}

function drawVector(spec: ParameterSpec, random: () => number): number[] {
  return Array.from({ length: spec.count }, () =>
    rounded(spec.low + random() * (spec.high - spec.low), spec),
  );
}

function rounded(value: number, spec: ParameterSpec): number {
  return Number(Math.min(spec.high, Math.max(spec.low, value)).toFixed(spec.decimals)) + 0;
}

/** Root mean square difference as a share of the range. */
function distanceBetween(a: ParameterVector, b: ParameterVector, spec: ParameterSpec): number {
  const squares = a.map((value, i) => ((value - b[i]!) / (spec.high - spec.low)) ** 2);
  return Math.sqrt(mean(squares));
}

/** A step from the best so far towards the optimum, with some noise that fades. */
function improve(
  entries: readonly BufferEntry[],
  optimum: ParameterVector,
  spec: ParameterSpec,
  progress: number,
  random: () => number,
): number[] {
  const best = entries.reduce((a, b) => (b.score > a.score ? b : a));
  const range = spec.high - spec.low;
  return best.parameters.map((value, i) => {
    if (spec.choices !== undefined)
      return random() < 0.12 ? (random() < 0.6 ? optimum[i]! : rounded(random() * 3, spec)) : value;
    return rounded(
      value + 0.09 * (optimum[i]! - value) + (random() - 0.5) * range * 0.12 * (1.2 - progress),
      spec,
    );
  });
}

function promptMessages(
  task: FixtureTask,
  entries: readonly BufferEntry[],
  iteration: number,
  historyCharacters = 30_000,
): ChatMessage[] {
  const history: string[] = [];
  let length = 0;
  for (const entry of entries.toReversed()) {
    const line = `${answerLine(entry.parameters)}; f(params): ${entry.score.toFixed(2)}`;
    if (length + line.length > historyCharacters) break;
    history.unshift(line);
    length += line.length + 1;
  }
  return [
    {
      role: 'system',
      content: `You improve a policy step by step.\n\nTask: ${task.config.environment as string}. Propose ${task.parameters.count} parameters between ${task.parameters.low} and ${task.parameters.high}.\nAnswer with one line of parameters, then your reason.`,
    },
    {
      role: 'user',
      content: `Evaluations so far:\n${history.join('\n')}\n\nThis is iteration ${iteration}. Propose the next parameters.`,
    },
  ];
}

function answerLine(parameters: ParameterVector): string {
  return parameters.map((value, i) => `params[${i}]: ${value}`).join(', ');
}

const reasons = [
  'The best policies weigh pole angle and angular velocity strongly for the right action, so I increase both a little.',
  'The last step lowered the return: I go back to the best parameters and change only the biases.',
  'Two of the three best evaluations share a large negative weight on cart velocity. I move further in that direction.',
  'Exploring: no evaluation so far has tried opposite signs for the first pair of weights.',
];

function makeCall(options: {
  readonly task: FixtureTask;
  readonly conversation: readonly ChatMessage[];
  readonly proposed: ParameterVector;
  readonly failure: ParseFailure | 'error' | undefined;
  readonly iteration: number;
  readonly attempt: number;
  readonly random: () => number;
  readonly time: string;
  readonly reason: string | undefined;
}): CallRecord {
  const { proposed, failure, random, iteration, attempt } = options;
  const base = {
    iteration,
    candidate: 0,
    attempt,
    purpose: attempt > 0 ? ('correction' as const) : ('proposal' as const),
    messages: [...options.conversation],
    seed: Math.floor(random() * 2 ** 31),
    time: options.time,
  };
  const latencyMs = Math.round(2500 + random() * 6000 + (random() < 0.05 ? 20_000 : 0));
  if (failure === 'error') {
    return {
      ...base,
      outcome: {
        kind: 'error',
        error: 'rate-limit',
        message: '429 Too Many Requests: retry after 20 s',
        retries: 4,
        latencyMs,
      },
    };
  }
  const reason = options.reason ?? reasons[Math.floor(random() * reasons.length)]!;
  const answer =
    failure?.kind === 'missing' ? 'I would rather keep the current parameters.' : answerLine(proposed);
  const promptTokens = Math.round(
    options.conversation.reduce((sum, message) => sum + message.content.length, 0) / 3.4,
  );
  const completion: Completion = {
    text: `${answer}\n\n${reason}`,
    ...(random() < 0.4 && { reasoning: `Let me compare the best evaluations.\n${reasons.join('\n')}` }),
    finishReason: failure?.kind === 'truncated' ? 'length' : 'stop',
    usage: {
      promptTokens,
      cachedTokens: Math.round(promptTokens * (iteration === 1 ? 0 : 0.7)),
      completionTokens: Math.round(180 + random() * 500),
      reasoningTokens: Math.round(60 + random() * 90),
    },
    latencyMs,
    retries: random() < 0.06 ? 1 : 0,
  };
  const outcome: CallRecord['outcome'] =
    failure === undefined ? { kind: 'accepted', parameters: proposed } : { kind: 'rejected', failure };
  const { price } = { price: undefined, ...options.task.config.model };
  const { cachedTokens = 0, completionTokens = 0 } = completion.usage;
  return {
    ...base,
    outcome,
    completion,
    ...(price && {
      cost:
        ((promptTokens - cachedTokens) * price.input +
          cachedTokens * (price.cachedInput ?? price.input) +
          completionTokens * price.output) /
        1e6,
    }),
  };
}

function someFailure(spec: ParameterSpec, random: () => number): ParseFailure | 'error' {
  const kinds: readonly (ParseFailure | 'error')[] = [
    {
      kind: 'count',
      expected: spec.count,
      found: spec.count - 2,
      absent: [spec.count - 2, spec.count - 1],
      unknown: [],
    },
    { kind: 'count', expected: spec.count, found: spec.count - 1, absent: [0], unknown: [spec.count] },
    {
      kind: 'range',
      values: [{ index: 2, text: '7.5' }],
      low: spec.low,
      high: spec.high,
      ...(spec.choices && { choices: spec.choices }),
    },
    {
      kind: 'range',
      values: [
        { index: 0, text: '-9' },
        { index: 1, text: '12' },
      ],
      low: spec.low,
      high: spec.high,
    },
    { kind: 'repeated', iteration: 12, score: 203.4 },
    { kind: 'repeated', iteration: 31, score: 310.2 },
    { kind: 'repeated' },
    { kind: 'decimals', values: [{ index: 3, text: '1.25' }], decimals: spec.decimals },
    { kind: 'missing' },
    { kind: 'truncated' },
    { kind: 'echo' },
    { kind: 'duplicate-index', indices: [4] },
    { kind: 'not-finite', values: [{ index: 5, text: 'NaN' }] },
    'error',
  ];
  return kinds[Math.floor(random() * kinds.length)]!;
}

function confirm(
  entries: readonly BufferEntry[],
  evaluate: (parameters: ParameterVector, episodes: number) => number[],
): Confirmation[] {
  const candidates = entries.toSorted((a, b) => b.score - a.score).slice(0, 3);
  const measure = (entry: BufferEntry, stage: Confirmation['stage']): Confirmation => {
    const returns = evaluate(entry.parameters, 100);
    const { iteration, candidate, parameters, score } = entry;
    return {
      stage,
      iteration,
      candidate,
      parameters,
      observed: score,
      mean: mean(returns),
      ci95: interval95([{ values: returns }], 'student'),
      episodes: 100,
    };
  };
  const selection = candidates.map((entry) => measure(entry, 'selection'));
  const chosen = selection.reduce((a, b) => (b.mean > a.mean ? b : a));
  return [...selection, measure(candidates[selection.indexOf(chosen)]!, 'final')];
}
