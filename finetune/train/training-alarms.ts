/** What makes a training useless or misleading although it runs. Dataset alarms are in alarms.ts. */
import { basename, resolve } from 'node:path';
import type { ChatTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { type Conversation, keepsAnswers } from '../dataset/read-dataset.js';

export interface TrainingAlarm {
  readonly alarm: 'answers-changed' | 'other-prompts' | 'validation-diverging';
  readonly message: string;
  readonly remedy: string;
}

/** Conversations that are looked at: a template treats all alike, and rendering takes time. */
const looked = 100;

/**
 * Whether what is trained on is what is served: prompts have the tokens that this model counted when it served them,
 * and the chat template shows answers as they stand.
 * @param model directory of the model
 */
export function templateAlarms(
  model: string,
  tokenizer: ChatTokenizer,
  conversations: readonly Conversation[],
): readonly TrainingAlarm[] {
  const name = `local/${basename(resolve(model))}`;
  const served = conversations
    .flatMap(({ messages, served }) =>
      served !== undefined && (served.model === name || served.model.startsWith(`${name}+`))
        ? [{ messages, before: served.promptTokens }]
        : [],
    )
    .slice(0, looked)
    .map(({ messages, before }) => ({ before, now: tokenizer.encodePrompt(messages).length }));
  const other = served.filter(({ before, now }) => before !== now);
  const some = conversations.slice(0, looked);
  const changed = some.filter((conversation) => !keepsAnswers(tokenizer, conversation));
  return [
    ...other.slice(0, 1).map(
      ({ before, now }): TrainingAlarm => ({
        alarm: 'other-prompts',
        message: `${other.length} of ${served.length} prompts that ${name} was served have another number of tokens now, e.g. ${now} for ${before}: it would be trained on other prompts than it reads`,
        remedy:
          'give `template` the variables of the runs’ model.template, and the model the tokenizer of then',
      }),
    ),
    ...changed.slice(0, 1).map(
      (): TrainingAlarm => ({
        alarm: 'answers-changed',
        message: `the chat template shows ${changed.length} of ${some.length} answers otherwise than they were given, so a format correction would show the model other text than it was trained to write`,
        remedy:
          'take a chat template that neither trims nor drops parts of earlier answers, or set its variables in `template`',
      }),
    ),
  ];
}

/** Validations in a row, each worse than the one before, that raise the alarm. */
const risesToAlarm = 3;
/** Less than this share above the lowest is taken for noise. */
const noise = 0.01;

/**
 * Watches for a validation loss that rises while the training loss falls. Each rise is told once.
 * @param before the lowest validation loss of earlier sessions, if there was one
 */
export function watchDivergence(before = Number.POSITIVE_INFINITY): {
  step(loss: number): void;
  validation(loss: number): TrainingAlarm | undefined;
} {
  let interval: number[] = [];
  let points: { readonly training: number; readonly validation: number }[] = [];
  let told = false;
  let lowest = before;
  return {
    step(loss) {
      interval.push(loss);
    },
    validation(loss) {
      const training = interval.reduce((sum, one) => sum + one, 0) / interval.length;
      interval = [];
      lowest = Math.min(lowest, loss);
      // Points of one rise: each validation loss above the one before.
      if (points.length > 0 && loss <= points.at(-1)!.validation) {
        points = [];
        told = false;
      }
      points.push({ training, validation: loss });
      const [first] = points;
      const rises = points.length - 1;
      const diverging = rises >= risesToAlarm && training < first!.training && loss > lowest * (1 + noise);
      if (!diverging || told) return undefined;
      told = true;
      return {
        alarm: 'validation-diverging',
        message: `the validation loss has risen ${rises} times in a row, from ${first!.validation.toFixed(4)} to ${loss.toFixed(4)}, while the training loss fell from ${first!.training.toFixed(4)} to ${training.toFixed(4)}: examples are learnt by heart`,
        remedy:
          'stop it (the result has the weights of the lowest validation loss); then add runs, train fewer epochs or at a lower rate, or set `patience`',
      };
    },
  };
}
