/** Feedback on an episode: parses typed input and model replies, and formats feedback for prompts. */

import { z } from 'zod';
import { answerText } from '../../models/answer-text.js';
import type { FinishReason } from '../../models/language-model.js';
import type { Feedback } from '../../rollout/replay-buffer.js';
import type { ParseFailure } from '../answer/parse.js';
import { count, flag, list, object, text } from './fields.js';
import { failureSchema, taskContextSchema } from './prompt-context.js';

/** Maximum length of a remark in characters, because remarks take up space in later prompts. */
export const longestRemark = 500;

/** The content of feedback, whatever its source. If both fields are absent, the question was skipped. */
export type Said = Pick<Feedback, 'rating' | 'remark'>;

type Typed =
  | { readonly kind: 'said'; readonly said: Said }
  | { readonly kind: 'unclear'; readonly problem: string };

/** Matches ratings that start with a word, such as `rating: 4` (as models write them) or `rated 4`. */
const namesRating = /^rat(?:ing|ed?)\b\W*\d/i;

const isRating = (text: string) => /^[1-5]$/.test(text);

/** Parses typed feedback: `4`, a remark, or `4: too jerky`. An empty line skips the question. */
export function readTyped(line: string): Typed {
  const text = oneLine(line);
  if (text === '') return { kind: 'said', said: {} };
  if (namesRating.test(text))
    return unclear(
      'is this a rating? If so, start with its number, as in “4: too jerky”; otherwise, start with a colon',
    );
  const [, number = '', colon, rest = ''] = /^([-+]?\d[\d.,]*)?(\s*:)?(.*)$/u.exec(text) ?? [];
  const remark = rest.trim();
  if (number !== '' && colon === undefined && remark !== '')
    return unclear(
      `is “${number}” a rating? If so, put a colon after it, as in “${isRating(number) ? number : 4}: ${shortened(remark)}”; otherwise, start the remark with a colon or a word`,
    );
  if (number !== '' && !isRating(number)) return unclear('a rating is a whole number from 1 to 5');
  if (remark.length > longestRemark)
    return unclear(`a remark can have at most ${longestRemark} characters; this one has ${remark.length}`);
  if (number === '' && remark === '') return unclear('there is no remark after the colon');
  return {
    kind: 'said',
    said: { ...(number !== '' && { rating: Number(number) }), ...(remark !== '' && { remark }) },
  };
}

const unclear = (problem: string): Typed => ({ kind: 'unclear', problem });

const shortened = (text: string) => (text.length > 20 ? `${text.slice(0, 20)}…` : text);

/** The inverse of `readTyped`. */
export function typedText({ rating, remark = '' }: Said): string {
  const text = oneLine(remark);
  if (rating !== undefined) return text === '' ? String(rating) : `${rating}: ${text}`;
  return /^[-+\d.,:]/.test(text) || namesRating.test(text) ? `: ${text}` : text;
}

/** Control characters; bidirectional ones could reorder the text around a remark. */
const marks = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

const oneLine = (text: string) => text.replaceAll(marks, ' ').replaceAll(/\s+/g, ' ').trim();

type Reading =
  | { readonly ok: true; readonly said: Said }
  | { readonly ok: false; readonly failure: ParseFailure };

/** Parses `rating: 4` and `remark: …` in a reply. One may be missing; the first of each counts. Cuts long remarks. */
export function readFeedback(reply: string, finishReason: FinishReason): Reading {
  const { text, unclosedThinking } = answerText(reply);
  const values = (name: string) =>
    [...text.matchAll(new RegExp(`^[\\s*_#>-]*${name}[\\s*_]*[:=][\\s*_]*(.*)$`, 'gim'))].map(([, value]) =>
      oneLine(value!)
        .replaceAll(/^[*_]+|[*_]+$/g, '')
        .trim(),
    );
  const [ratings, remarks] = [values('rating'), values('remark').filter((remark) => remark !== '')];
  const rating = /^([1-5])(?:\.0+)?(?:\s*(?:\/|of|out of)\s*5)?\W*$/i.exec(ratings[0] ?? '')?.[1];
  const [remark] = remarks;
  // A rating outside the scale means that the model misunderstood the question.
  const isWrong = ratings[0] !== undefined && ratings[0] !== '' && rating === undefined;
  if (isWrong || (rating === undefined && remark === undefined)) {
    const isCut = (finishReason === 'length' || unclosedThinking) && !isWrong;
    return { ok: false, failure: { kind: isCut ? 'truncated' : 'no-feedback' } };
  }
  return {
    ok: true,
    said: {
      ...(rating !== undefined && { rating: Number(rating) }),
      ...(remark !== undefined && { remark: cut(remark) }),
    },
  };
}

const cut = (remark: string) =>
  remark.length <= longestRemark ? remark : `${remark.slice(0, longestRemark - 1).trimEnd()}…`;

/** The line shown below an evaluation, with its feedback and who gave it; empty if there is no feedback. */
export function feedbackLines(feedback: Feedback | undefined): readonly string[] {
  if (feedback === undefined) return [];
  const who = feedback.from === 'person' ? 'a person who' : 'a vision model that';
  return [`feedback of ${who} saw an episode of it: ${saidText(feedback)}`];
}

/** Example: `rated 4 of 5, “too jerky”`. */
export function saidText({ rating, remark }: Said): string {
  return [
    ...(rating === undefined ? [] : [`rated ${rating} of 5`]),
    // A quotation mark inside a remark must not end it early.
    ...(remark === undefined ? [] : [`“${remark.replaceAll(/[“”]/g, '"')}”`]),
  ].join(', ');
}

const seenSchema = z.strictObject({
  iteration: count('The iteration of the evaluation, from 1'),
  evaluated: object('The evaluation of the episode', {
    parameters: text('Parameters of the evaluation as text: `params[0]: 1.2, …`, or the program'),
    score: text('Mean return of the evaluation'),
    best: flag('True if its score is higher than that of every earlier evaluation'),
  }),
  episode: object('The episode with the median return', {
    number: count('Number of the episode within the evaluation, from 1'),
    of: count('Number of episodes'),
    return: text('Return of the episode'),
    steps: count('Number of steps'),
    terminated: flag('True if the task ended the episode, not the step limit'),
  }),
  frames: list('The pictures sent with the prompt, in order', {
    number: count('Number of the picture, from 1'),
    step: count('Number of steps before the picture'),
  }),
});

export const feedbackContextSchema = taskContextSchema.extend(seenSchema.shape);
export const feedbackCorrectionSchema = feedbackContextSchema.extend({
  failure: failureSchema.describe('The problem; exactly one of its fields is set (format-correction only)'),
});

export type FeedbackContext = z.output<typeof feedbackContextSchema>;
