/** Feedback on an episode: how it is typed, how a model's reply is read, and how a prompt tells it. */

import { answerText } from '../../models/answer-text.js';
import type { FinishReason } from '../../models/language-model.js';
import type { Feedback } from '../../rollout/replay-buffer.js';
import type { ParseFailure } from '../answer/parse.js';

/** Characters that a remark may have: it stands in every later prompt. */
export const longestRemark = 500;

/** What was said, by whomever. Neither of the two: it was skipped. */
export type Said = Pick<Feedback, 'rating' | 'remark'>;

type Typed =
  | { readonly kind: 'said'; readonly said: Said }
  /** What is wrong with it, in words. */
  | { readonly kind: 'unclear'; readonly problem: string };

/** Perhaps the form of a model's reply, perhaps words about a rating. */
const namesRating = /^rat(?:ing|ed?)\b\W*\d/i;

const isRating = (text: string) => /^[1-5]$/.test(text);

/**
 * Reads what a person typed: `4`, a remark, or both as `4: too jerky`; nothing skips. A number that may be meant as
 * a rating, or not, is asked about. `: 3 falls` is the remark `3 falls`.
 */
export function readTyped(line: string): Typed {
  const text = oneLine(line);
  if (text === '') return { kind: 'said', said: {} };
  if (namesRating.test(text))
    return unclear('is that a rating? Then begin with its number, as in “4: too jerky”; else with a colon');
  const [, number = '', colon, rest = ''] = /^([-+]?\d[\d.,]*)?(\s*:)?(.*)$/u.exec(text) ?? [];
  const remark = rest.trim();
  if (number !== '' && colon === undefined && remark !== '')
    return unclear(
      `is “${number}” a rating? Then put a colon behind it, as in “${isRating(number) ? number : 4}: ${shortened(remark)}”; else begin the remark with a colon or a word`,
    );
  if (number !== '' && !isRating(number)) return unclear('a rating is a whole number from 1 to 5');
  if (remark.length > longestRemark)
    return unclear(`a remark has ${longestRemark} characters at most, this one ${remark.length}`);
  if (number === '' && remark === '') return unclear('no remark follows the colon');
  return {
    kind: 'said',
    said: { ...(number !== '' && { rating: Number(number) }), ...(remark !== '' && { remark }) },
  };
}

const unclear = (problem: string): Typed => ({ kind: 'unclear', problem });

const shortened = (text: string) => (text.length > 20 ? `${text.slice(0, 20)}…` : text);

/** The line that `readTyped` reads so. */
export function typedText({ rating, remark = '' }: Said): string {
  const text = oneLine(remark);
  if (rating !== undefined) return text === '' ? String(rating) : `${rating}: ${text}`;
  return /^[-+\d.,:]/.test(text) || namesRating.test(text) ? `: ${text}` : text;
}

/** Marks that change the direction of a line's text would reach over the words around a remark. */
const marks = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

const oneLine = (text: string) => text.replaceAll(marks, ' ').replaceAll(/\s+/g, ' ').trim();

type Reading =
  | { readonly ok: true; readonly said: Said }
  | { readonly ok: false; readonly failure: ParseFailure };

/**
 * Reads a model's reply: the lines `rating: 4` and `remark: …`, in any order, with words around them and one of the two left
 * out. The first of several counts. What is too long of a remark is cut.
 */
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
  // A rating beyond the scale tells that the question was not understood.
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

/** The line below an evaluation: who saw an episode of it, and what they said. None where nobody did. */
export function feedbackLines(feedback: Feedback | undefined): readonly string[] {
  if (feedback === undefined) return [];
  const who = feedback.from === 'person' ? 'a person who' : 'a vision model that';
  return [`feedback of ${who} saw an episode of it: ${saidText(feedback)}`];
}

/** `rated 4 of 5, “too jerky”` */
export function saidText({ rating, remark }: Said): string {
  return [
    ...(rating === undefined ? [] : [`rated ${rating} of 5`]),
    // The quotes of a remark must not end before it does.
    ...(remark === undefined ? [] : [`“${remark.replaceAll(/[“”]/g, '"')}”`]),
  ].join(', ');
}
