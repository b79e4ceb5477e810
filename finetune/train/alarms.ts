/** Raises alarms about problems that don't stop a training run but make it useless or misleading. */
import { basename, resolve } from 'node:path';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { largest, mean, smallest } from '../../src/statistics/descriptive.js';
import type { Conversation } from '../dataset/read-dataset.js';
import { type Alarm, isPolicyStep, type PolicyStep, type TrainingEvent } from './events.js';

type AlarmText = Omit<Alarm, 'alarm'> | undefined;

export interface Check {
  readonly alarm: Alarm['alarm'];
  /** The kind of event that may raise the alarm. */
  readonly trigger: 'step' | 'validation';
  /** @param events the steps and validations of the whole run */
  find(events: readonly TrainingEvent[]): AlarmText;
}

/** Returns a function that maps an event to the alarms it raises. No alarm is repeated while its problem persists. */
export function createAlarmWatch(checks: readonly Check[]): (event: TrainingEvent) => readonly Alarm[] {
  const events: TrainingEvent[] = [];
  const raised = new Set<Alarm['alarm']>();
  return (event) => {
    if (event.kind !== 'step' && event.kind !== 'validation') return [];
    events.push(event);
    return checks.flatMap(({ alarm, find, trigger }) => {
      if (event.kind !== trigger) return [];
      const found = find(events);
      if (found === undefined) raised.delete(alarm);
      if (found === undefined || raised.has(alarm)) return [];
      raised.add(alarm);
      return [{ alarm, ...found }];
    });
  };
}

/** Number of consecutive increases of the validation loss that the alarm requires. */
const risesToAlarm = 3;
/** A rise counts as noise unless the loss exceeds the lowest loss by more than this fraction. */
const noise = 0.01;

/** Detects a validation loss that rises while the training loss falls. */
export const supervisedChecks: readonly Check[] = [
  {
    alarm: 'validation-diverging',
    trigger: 'validation',
    find(events) {
      const points: { readonly training: number; readonly validation: number }[] = [];
      let losses: number[] = [];
      for (const event of events)
        if (event.kind === 'step') losses.push(event.loss!);
        else if (event.kind === 'validation') {
          points.push({ training: mean(losses), validation: event.loss });
          losses = [];
        }
      const start = points.findLastIndex((one, i) => i === 0 || one.validation <= points[i - 1]!.validation);
      const [first, last] = [points[start]!, points.at(-1)!];
      const rises = points.length - 1 - start;
      const lowest = smallest(points.map(({ validation }) => validation));
      if (rises < risesToAlarm || last.training >= first.training || last.validation <= lowest * (1 + noise))
        return undefined;
      return {
        message: `the validation loss has risen ${rises} times in a row, from ${first.validation.toFixed(4)} to ${last.validation.toFixed(4)}, while the training loss fell from ${first.training.toFixed(4)} to ${last.training.toFixed(4)}: the model is overfitting`,
        hint: 'stop the run and write the weights with the lowest validation loss (--finish); then add runs to the dataset, lower epochs or learningRate, or set `patience`',
      };
    },
  },
];

/** Number of updates that most checks consider. */
const windowSteps = 10;

/** The first updates and the latest ones, for comparison. */
interface Trend {
  readonly earliest: readonly PolicyStep[];
  readonly latest: readonly PolicyStep[];
  /** True if the mean return of recent updates is close to the best return so far. */
  readonly isSolved: boolean;
}

type FigureKey = 'flat' | 'reward' | 'entropy' | 'mismatch' | 'valid';
const meanOf = (steps: readonly PolicyStep[], key: FigureKey) => mean(steps.map((step) => step[key]));

const percent = (share: number) => `${Math.round(100 * share)} %`;

/** Creates a check of the latest `updates` updates, which needs at least that many. */
const policyCheck = (alarm: Alarm['alarm'], updates: number, find: (trend: Trend) => AlarmText): Check => ({
  alarm,
  trigger: 'step',
  find(events) {
    const steps = events.filter(isPolicyStep);
    if (steps.length < updates) return undefined;
    const latest = steps.slice(-updates);
    const highest = largest(steps.map((step) => step.highest));
    const range = highest - smallest(steps.map((step) => step.lowest));
    const isSolved = range > 0 && meanOf(latest, 'reward') >= highest - 0.05 * range;
    return find({ earliest: steps.slice(0, windowSteps), latest, isSolved });
  },
});

/** @param compares true if the objective compares the episodes of a group */
export const policyChecks = (compares: boolean): readonly Check[] => [
  policyCheck('no-variance', windowSteps, ({ latest, isSolved }) => {
    const flatShare = meanOf(latest, 'flat');
    if (!compares || flatShare < 0.9 || isSolved) return undefined;
    return {
      message: `in ${percent(flatShare)} of the groups of the last ${windowSteps} updates, all returns were equal, so there was nothing to compare`,
      hint: 'raise groupSize or the temperature, choose an easier task, reward partial success, or stop if the task is solved',
    };
  }),
  // A large model takes minutes per update, and its policy can collapse within two updates.
  policyCheck('entropy-collapse', 3, ({ earliest, latest, isSolved }) => {
    const [first, last] = [earliest[0]!.entropy, meanOf(latest, 'entropy')];
    const varies = compares && meanOf(latest, 'flat') < 0.5;
    if (isSolved || varies || first < 0.1 || last > 0.05 * first) return undefined;
    return {
      message: `the entropy of the replies fell from ${first.toFixed(2)} to ${last.toPrecision(2)} nats per token: the model no longer explores`,
      hint: 'lower the learning rate, raise objective.entropy, or stop if the task is solved',
    };
  }),
  policyCheck('mismatch', windowSteps, ({ latest }) => {
    const mismatch = meanOf(latest, 'mismatch');
    if (mismatch < 0.01) return undefined;
    return {
      message: `sampler and trainer compute different probabilities (KL ${mismatch.toPrecision(2)} nats per token)`,
      hint: 'with method lora, set method.quantization=none and method.compute=float32; otherwise, lower objective.maxImportance',
    };
  }),
  policyCheck('format-loss', windowSteps, ({ earliest, latest }) => {
    const [first, last] = [meanOf(earliest, 'valid'), meanOf(latest, 'valid')];
    if (last > 0.5 * first) return undefined;
    return {
      message: `${percent(last)} of the replies can be parsed, compared with ${percent(first)} at the start`,
      hint: 'lower reward.invalid to penalise invalid replies, lower the learning rate, raise maxTokens, or start from a model that follows the format (finetune train)',
    };
  }),
];

/** Maximum number of conversations to check: rendering takes time, and a template treats all conversations alike. */
const maxConversations = 100;

/** Checks that prompts still have as many tokens as when they were sent to the model. */
export function templateAlarms(
  model: string,
  tokenizer: ChatTokenizer,
  conversations: readonly Conversation[],
): readonly Alarm[] {
  const name = `local/${basename(resolve(model))}`;
  const prompts = conversations
    .flatMap(({ messages, promptOrigin }) =>
      promptOrigin !== undefined && (promptOrigin.model === name || promptOrigin.model.startsWith(`${name}+`))
        ? [{ messages, before: promptOrigin.promptTokens }]
        : [],
    )
    .slice(0, maxConversations)
    .map(({ messages, before }) => ({ before, now: tokenizer.encodePrompt(messages).length }));
  const changedPrompts = prompts.filter(({ before, now }) => before !== now);
  if (changedPrompts[0] === undefined) return [];
  return [
    {
      alarm: 'other-prompts',
      message: `the number of tokens has changed for ${changedPrompts.length} of ${prompts.length} prompts sent to ${name}, e.g. from ${changedPrompts[0].before} to ${changedPrompts[0].now}, so training would use different prompts`,
      hint: "set `template` to the runs' model.template, and use the same tokenizer",
    },
  ];
}
