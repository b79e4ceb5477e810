import { unreachable } from '../base/errors.js';
import { formatNumber, formatParameter, plural } from '../base/text/numbers.js';
import type { Observation } from '../environments/environment.js';
import type { ModelErrorKind, ReplyFault } from '../models/language-model.js';
import type { ProgramFailure } from '../policies/program/program.js';
import type { IndexedText, ParseFailure } from '../prompting/answer/failure.js';
import type { CallRecord } from './calls.js';

export const faultTexts: Readonly<Record<ModelErrorKind | ReplyFault, string>> = {
  'rate-limit': 'the provider is limiting the request rate',
  quota: 'the provider requires a longer wait than `model.maxRetryAfterSeconds` allows',
  server: 'the provider failed',
  network: 'no connection',
  cut: 'the connection broke before the reply was complete',
  timeout: 'no reply before the deadline',
  html: 'a web page instead of a reply',
  malformed: "not JSON, or JSON that doesn't match the protocol",
  empty: 'a response without a completion',
  'content-filter': 'stopped or refused by the provider because of its content',
  'too-long': "the prompt is longer than the model's context",
  authentication: 'the API key was rejected',
  'not-found': 'unknown model or address',
  'bad-request': 'the request was rejected as invalid',
  'not-recorded': "the replayed run doesn't contain this call",
  aborted: 'stopped by the user, by a time limit or by a crash',
  'no-text': 'a reply without text',
  loop: 'one phrase repeated until the length limit',
  overlong: 'a reply longer than requested',
  'prompt-cut': 'the server truncated the prompt',
  'usage-missing': 'token counts are missing, so they are estimated',
  'usage-wrong': 'implausible token counts; unusable ones are estimated',
};

/** Reasons to reject a reply, and kinds of failed calls. */
export type FailureKind = ParseFailure['kind'] | 'plays-alike' | ModelErrorKind | ReplyFault;

/** Faults that explain why a reply has no answer. */
const explanatoryFaults = ['content-filter', 'no-text', 'loop'] as const satisfies ReplyFault[];

/** @param faults faults of the call; one that explains why the reply has no answer determines the kind */
export function failureKind(
  outcome: { readonly kind: 'accepted' } | CallRecord['outcome'],
  faults: readonly string[],
): FailureKind | undefined {
  if (outcome.kind === 'accepted') return undefined;
  if (outcome.kind === 'error') return outcome.error;
  const { failure } = outcome;
  if (failure.kind === 'repeated' && failure.same === 'actions') return 'plays-alike';
  const { kind } = failure;
  const hasNoAnswer = kind === 'missing' || kind === 'truncated';
  return (hasNoAnswer ? explanatoryFaults.find((fault) => faults.includes(fault)) : undefined) ?? kind;
}

export const failureMeaning = (kind: FailureKind): string => ({ ...rejectionMeanings, ...faultTexts })[kind];

const rejectionMeanings: Readonly<Record<ParseFailure['kind'] | 'plays-alike', string>> = {
  missing: 'no answer in the requested format',
  count: 'missing or extra indices',
  range: 'a value outside the range or not among the choices',
  decimals: 'more decimals than allowed',
  'duplicate-index': 'an index given twice with different values',
  'not-finite': "a value that isn't a finite number",
  repeated: 'a policy that was already evaluated',
  'plays-alike': 'a policy that chooses the same actions as one that was already evaluated',
  'too-far': 'a revision that changes too much',
  program: "a program that fails or can't be read",
  truncated: 'the reply ends before its answer is complete',
  echo: 'only parameters copied from the prompt, or the format example',
};

/** Explains why a reply was rejected, and quotes the beginning of the reply. */
export function rejectionText({ completion, outcome }: CallRecord, characters = 80): string {
  const explanation = outcome.kind === 'rejected' ? explainFailure(outcome.failure) : '';
  const line = completion?.text.replaceAll(/\s+/g, ' ').trim() ?? '';
  if (line === '') return `${explanation} It is empty.`;
  const start = line.length > characters ? `${line.slice(0, characters).trimEnd()} …` : line;
  return `${explanation} It begins: “${start}”`;
}

/** Explains why a call failed or its reply was rejected; empty if the reply was accepted. */
export function outcomeText(outcome: { readonly kind: 'accepted' } | CallRecord['outcome']): string {
  if (outcome.kind === 'error') return outcome.message;
  return outcome.kind === 'rejected' ? explainFailure(outcome.failure) : '';
}

export function explainFailure(failure: ParseFailure): string {
  switch (failure.kind) {
    case 'missing':
      return 'The reply contains no answer in the requested format.';
    case 'count': {
      const parts = [`Found ${failure.found} of ${plural(failure.expected, 'parameter')}`];
      if (failure.absent.length > 0) parts.push(`absent: ${listIndices(failure.absent)}`);
      if (failure.unknown.length > 0) parts.push(`not asked for: ${listIndices(failure.unknown)}`);
      return `${parts.join('; ')}.`;
    }
    case 'range': {
      const allowedText = failure.choices
        ? `one of ${shortList(failure.choices.map(formatParameter))}`
        : `${formatNumber(failure.low)} to ${formatNumber(failure.high)}`;
      return `Not ${failure.choices ? allowedText : `within ${allowedText}`}: ${listValues(failure.values)}.`;
    }
    case 'decimals':
      return `More than ${plural(failure.decimals, 'decimal')}: ${listValues(failure.values)}.`;
    case 'duplicate-index':
      return `Given twice with different values: ${listIndices(failure.indices)}.`;
    case 'not-finite':
      return `Not a finite number: ${listValues(failure.values)}.`;
    case 'too-far':
      return `The size of the change is ${formatNumber(failure.distance, 3)}; at most ${formatNumber(failure.most, 3)} is allowed.`;
    case 'repeated': {
      const { episodes, iteration, same } = failure;
      const placeText = iteration === 0 ? 'the warm-up' : `iteration ${iteration}`;
      const score = failure.score === undefined ? '' : `, with score ${formatNumber(failure.score)}`;
      if (same === 'actions')
        return `Plays like ${placeText}${score}: in ${plural(episodes ?? 0, 'episode')} it chooses the same actions.`;
      const opening = same ? 'The program differs only in its constants from one' : 'This policy was';
      return `${opening} evaluated ${iteration === undefined ? 'before' : `in ${placeText}`}${score}.`;
    }
    case 'program':
      return `The program can't be used: ${programFailureText(failure)}`;
    case 'truncated':
      return 'The reply was cut at its token limit before the answer was complete.';
    case 'echo':
      return 'The reply contains only parameters copied from the prompt, or the format example.';
    default:
      return unreachable(failure);
  }
}

/** Example: `line 3: TypeError: x is not a function (observation [0.1, 0.2])`. */
export function programFailureText({ line, observation, reason }: ProgramFailure): string {
  const lineText = line === undefined ? '' : `line ${line}: `;
  const observationNote = observation === undefined ? '' : ` (observation ${observationText(observation)})`;
  return `${lineText}${reason}${observationNote}`;
}

const maxObservationLength = 300; // characters

/** Examples: `[0.01234, −1.5]`, `4`, `"You are in a kitchen."`. Truncates long observations. */
function observationText(observation: Observation): string {
  const text =
    typeof observation === 'object'
      ? `[${observation.map((value) => formatNumber(value)).join(', ')}]`
      : JSON.stringify(observation);
  return text.length > maxObservationLength ? `${text.slice(0, maxObservationLength)}…` : text;
}

function listIndices(indices: readonly number[]): string {
  return shortList(indices.map((index) => `params[${index}]`));
}

function listValues(values: readonly IndexedText[]): string {
  return shortList(values.map(({ index, text }) => `params[${index}] = ${text.slice(0, 40)}`));
}

function shortList(items: readonly string[], limit = 8): string {
  const shown = items.slice(0, limit).join(', ');
  return items.length > limit ? `${shown} and ${items.length - limit} more` : shown;
}
