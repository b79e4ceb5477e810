/** The task as prompts describe it: plain data that is constant during a run. */
import { formatShort } from '../../environments/catalogue/facts.js';
import { observationNames } from '../../environments/catalogue/observation-names.js';
import type { DiscreteSpace, EnvironmentSpec, Space } from '../../environments/environment.js';
import type { EnvironmentConfig } from '../../environments/settings.js';
import type { BinEdges, ParameterSpec, PolicyDescription, PolicyFamily } from '../../policies/policy.js';
import type { PolicyConfig } from '../../policies/settings.js';
import type { EvaluationConfig } from '../../rollout/settings.js';
import { type AnswerForm, exampleAnswer, formatValue } from '../notation/grammar.js';
import type { MemorySettings, PromptsConfig } from '../settings.js';
import { selectedCount } from './history.js';
import type { DescriptionContext, SpaceContext, TableContext, TaskContext } from './prompt-context.js';
import { linearContext, networkContext } from './weights-context.js';

export function descriptionContext(
  environment: EnvironmentSpec,
  options: Readonly<Record<string, unknown>>,
  maxSteps: number,
): DescriptionContext {
  const { actionSpace, observationSpace, words = {} } = environment;
  return {
    id: environment.id,
    words: {
      description: words.description ?? null,
      observations: nameComponents(observationSpace, words.observationNames),
      actions: nameComponents(actionSpace, words.actionNames),
    },
    stepLimit: Math.min(environment.maxSteps ?? Number.POSITIVE_INFINITY, maxSteps),
    observation: spaceContext(observationSpace),
    action: spaceContext(actionSpace),
    options: Object.entries(options).map(([name, value]) => ({
      name,
      value: JSON.stringify(value) ?? 'null',
    })),
  };
}

function nameComponents(space: Space, names: readonly string[] = []) {
  const first = space.kind === 'discrete' ? (space.start ?? 0) : undefined;
  return names.map((name, i) => ({ label: first === undefined ? `[${i}]` : `${first + i}`, name }));
}

/** The parts of a run that describe its task. */
interface Task {
  readonly config: {
    readonly environment: Pick<EnvironmentConfig, 'options'>;
    readonly iterations: number;
    readonly candidates: number;
    readonly prompts: PromptsConfig;
    readonly memory: MemorySettings;
    readonly evaluation: EvaluationConfig;
    readonly policy?: PolicyConfig | undefined;
  };
  readonly environment: EnvironmentSpec;
  readonly family: Pick<PolicyFamily, 'parameters' | 'description'>;
  readonly prompts: {
    /** Description of the environment, as rendered by the prompt set. */
    readonly description: string;
  };
}

export function taskContext(task: Task, form: AnswerForm): TaskContext {
  const { config, environment, family } = task;
  const { prompts, evaluation, memory } = config;
  const { parameters, description: policy } = family;
  return {
    environment: {
      ...descriptionContext(environment, config.environment.options, evaluation.maxSteps),
      description: task.prompts.description,
    },
    policy: {
      linear: policy.kind === 'linear' ? linearContext(policy) : null,
      table:
        policy.kind === 'q-table' ? tableContext(policy, parameters, environment.observationSpace) : null,
      network: policy.kind === 'mlp' ? networkContext(policy) : null,
      program: policy.kind === 'program' ? programContext(environment, config.policy) : null,
      own: policy.kind === 'module' ? { name: policy.name, description: policy.text } : null,
    },
    parameters: parametersContext(parameters),
    answer: {
      ...answerContext(parameters, form),
      ...(policy.kind === 'program' && { example: exampleAction(environment.actionSpace) }),
      edits: config.policy?.kind === 'program' && config.policy.edits === true,
    },
    evaluation: {
      episodes: evaluation.episodes,
      single: evaluation.episodes === 1,
      common: evaluation.seeds === 'common',
    },
    memory: {
      nothing: selectedCount(memory) === 0,
      everything: selectedCount(memory) === Number.POSITIVE_INFINITY,
      best: memory.best ?? 0,
      recent: memory.recent ?? 0,
      rows: memory.trajectories === 'rows',
      summary: memory.trajectories === 'summary',
    },
    iterations: config.iterations,
    candidates: config.candidates,
    group: config.candidates > 1,
    optimum: prompts.optimum === undefined ? null : String(prompts.optimum),
    stepSize: prompts.stepSize === undefined ? null : String(prompts.stepSize),
  };
}

/** @param config the policy's section of the config; undefined if unknown */
function programContext(environment: EnvironmentSpec, config: PolicyConfig | undefined) {
  const names = observationNames(environment);
  return {
    names: names.flatMap((name, index) => (name === undefined ? [] : [{ index, name }])),
    stepSeconds: environment.stepSeconds === undefined ? null : formatShort(environment.stepSeconds),
    tuned: config?.kind === 'program' && config.tune !== undefined,
  };
}

function parametersContext(spec: ParameterSpec): TaskContext['parameters'] {
  const { count, kind, low, high, decimals, choices } = spec;
  const boundText = (value: number) => {
    const text = formatValue(value, decimals);
    return Number(text) === value ? text : String(value);
  };
  const hasGaps = choices?.some((choice, i) => choice !== low + i) ?? false;
  return {
    count,
    lastIndex: count - 1,
    single: count === 1,
    integer: kind === 'integer',
    low: boundText(low),
    high: boundText(high),
    decimals,
    oneDecimal: decimals === 1,
    // A long list of choices without gaps is shown as a range instead.
    choices: choices !== undefined && (hasGaps || choices.length <= 12) ? choices.join(', ') : null,
  };
}

function answerContext(spec: ParameterSpec, form: AnswerForm) {
  const isJson = form.notation === 'json';
  return { json: isJson, example: isJson ? jsonExample(spec, form) : exampleAnswer(spec) };
}

/** Returns a valid action, as JavaScript. */
function exampleAction(space: Space): string {
  switch (space.kind) {
    case 'discrete':
      return String(space.start ?? 0);
    case 'tuple':
      return `[${space.spaces.map(({ start = 0 }) => start).join(', ')}]`;
    case 'box':
      return `[${space.low.map((low, i) => Math.min(Math.max(0, low), space.high[i]!)).join(', ')}]`;
    case 'text':
      return JSON.stringify(space.choices?.[0] ?? '');
  }
}

/** Lists keys in the same order as the JSON schema sent to providers. */
function jsonExample({ count, kind }: ParameterSpec, { reason }: AnswerForm): string {
  const item = kind === 'integer' ? '<integer>' : '<number>';
  const items = count <= 4 ? Array.from({ length: count }, () => item) : [item, item, '...', item];
  const keys = [`"params": [${items.join(', ')}]`];
  const reasonKey = '"reason": "<why, in one to three sentences>"';
  if (reason === 'first') keys.unshift(reasonKey);
  if (reason === 'last') keys.push(reasonKey);
  return `{${keys.join(', ')}}`;
}

function spaceContext(space: Space): SpaceContext {
  const noSpace = { discrete: null, box: null, tuple: null };
  switch (space.kind) {
    case 'discrete':
      return { ...noSpace, discrete: { count: space.n, ...endsOf(space) } };
    case 'text':
      return noSpace;
    case 'tuple': {
      const parts = space.spaces.map((part, index) => ({ index, ...endsOf(part) }));
      return { ...noSpace, tuple: { length: parts.length, parts } };
    }
    case 'box': {
      const high = space.high.map(finiteText);
      const components = space.low.map((low, index) => ({
        index,
        low: finiteText(low),
        high: high[index] ?? null,
      }));
      return { ...noSpace, box: { length: components.length, single: components.length === 1, components } };
    }
  }
}

const endsOf = ({ n, start = 0 }: DiscreteSpace) => ({ first: start, last: start + n - 1 });

const finiteText = (bound: number): string | null => (Math.abs(bound) < 1e30 ? formatShort(bound) : null);

function tableContext(
  policy: PolicyDescription & { kind: 'q-table' },
  { choices }: ParameterSpec,
  observation: Space,
): TableContext {
  const { form, states, actions, bins = [] } = policy;
  const numbers = form === 'actions' && choices !== undefined ? choices : actions.map((_, a) => a);
  return {
    holdsActions: form === 'actions',
    states,
    lastState: states - 1,
    actionCount: actions.length,
    actions: actions.map((label, a) => ({ number: numbers[a]!, label })),
    labeled: actions.some((label, a) => label !== String(numbers[a])),
    stateFormula: stateFormula(policy.bins, observation),
    bins: bins.map((bin, index) => ({ index, ranges: binRanges(bin) })),
  };
}

/** Writes the formula for the state number of an observation; the last component varies fastest. */
function stateFormula(bins: readonly BinEdges[] | undefined, observation: Space): string | null {
  if (bins !== undefined) {
    const sizes = bins.map(({ edges }) => edges.length + 1);
    return mixedRadix(sizes, (i) => `bin[${i}]`);
  }
  switch (observation.kind) {
    case 'discrete': {
      const { start = 0 } = observation;
      return start === 0 ? null : `observation - ${start}`;
    }
    case 'tuple': {
      const sizes = observation.spaces.map(({ n }) => n);
      return mixedRadix(sizes, (i) => {
        const { start = 0 } = observation.spaces[i]!;
        return start === 0 ? `observation[${i}]` : `(observation[${i}] - ${start})`;
      });
    }
    case 'box':
    case 'text':
      return null;
  }
}

function mixedRadix(sizes: readonly number[], digit: (i: number) => string): string {
  const strideOf = (i: number) => sizes.slice(i + 1).reduce((product, size) => product * size, 1);
  return sizes.map((_, i) => (strideOf(i) === 1 ? '' : `${strideOf(i)} * `) + digit(i)).join(' + ');
}

/** Example: `0: below -0.6; 1: -0.6 to below 0; 2: 0 and above`. */
function binRanges({ edges }: BinEdges): string {
  if (edges.length === 0) return '0: every value';
  const texts = edges.map(formatShort);
  const inner = texts.slice(1).map((edge, i) => `${i + 1}: ${texts[i]} to below ${edge}`);
  return [`0: below ${texts[0]}`, ...inner, `${edges.length}: ${texts.at(-1)} and above`].join('; ');
}
