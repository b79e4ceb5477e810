/** Detects problems that don't stop a training run but make it useless or misleading. */
import { basename, resolve } from 'node:path';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { mean } from '../../src/statistics/descriptive.js';
import { type Conversation, keepsAnswers } from '../dataset/read-dataset.js';
import type { Alarm } from './events.js';

/** Maximum number of conversations to check: rendering takes time, and a template treats all conversations alike. */
const checked = 100;

/** Checks that training sees the same tokens as serving: prompts have their recorded length, answers are unchanged. */
export function templateAlarms(
  model: string,
  tokenizer: ChatTokenizer,
  conversations: readonly Conversation[],
): readonly Alarm[] {
  const name = `local/${basename(resolve(model))}`;
  const served = conversations
    .flatMap(({ messages, served }) =>
      served !== undefined && (served.model === name || served.model.startsWith(`${name}+`))
        ? [{ messages, before: served.promptTokens }]
        : [],
    )
    .slice(0, checked)
    .map(({ messages, before }) => ({ before, now: tokenizer.encodePrompt(messages).length }));
  const other = served.filter(({ before, now }) => before !== now);
  const some = conversations.slice(0, checked);
  const changed = some.filter((conversation) => !keepsAnswers(tokenizer, conversation));
  const alarms: Alarm[] = [];
  if (other[0] !== undefined)
    alarms.push({
      alarm: 'other-prompts',
      message: `the number of tokens has changed for ${other.length} of ${served.length} prompts served to ${name}, e.g. from ${other[0].before} to ${other[0].now}, so training would use different prompts`,
      hint: "set `template` to the runs' model.template, and use the same tokenizer",
    });
  if (changed.length > 0)
    alarms.push({
      alarm: 'answers-changed',
      message: `the chat template changes ${changed.length} of ${some.length} answers, so in format corrections the model would see answers that differ from its training data`,
      hint: 'use a chat template that keeps earlier answers unchanged, or set its variables in `template`',
    });
  return alarms;
}

/** The alarm is raised after this many consecutive increases of the validation loss. */
const risesToAlarm = 3;
/** A rise counts as noise unless the loss exceeds the lowest loss by more than this fraction. */
const noise = 0.01;

/** Detects a validation loss that rises while the training loss falls. Raises at most one alarm per rise. */
export class DivergenceWatch {
  #lowest: number;
  /** Training losses since the last validation. */
  #interval: number[] = [];
  /** Points of the current rise; each validation loss is higher than the previous one. */
  #points: { readonly training: number; readonly validation: number }[] = [];
  #raised = false;

  constructor(lowest = Number.POSITIVE_INFINITY) {
    this.#lowest = lowest;
  }

  step(loss: number): void {
    this.#interval.push(loss);
  }

  validation(loss: number): Alarm | undefined {
    const training = mean(this.#interval);
    this.#interval = [];
    this.#lowest = Math.min(this.#lowest, loss);
    const before = this.#points.at(-1);
    if (before !== undefined && loss <= before.validation) {
      this.#points = [];
      this.#raised = false;
    }
    this.#points.push({ training, validation: loss });
    const first = this.#points[0]!;
    const rises = this.#points.length - 1;
    const diverging = rises >= risesToAlarm && training < first.training && loss > this.#lowest * (1 + noise);
    if (!diverging || this.#raised) return undefined;
    this.#raised = true;
    return {
      alarm: 'validation-diverging',
      message: `the validation loss has risen ${rises} times in a row, from ${first.validation.toFixed(4)} to ${loss.toFixed(4)}, while the training loss fell from ${first.training.toFixed(4)} to ${training.toFixed(4)}: the model is overfitting`,
      hint: 'stop the run and write the weights with the lowest validation loss (--finish); then add runs to the dataset, lower epochs or learningRate, or set `patience`',
    };
  }
}
