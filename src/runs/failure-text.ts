import { unreachable } from '../base/errors.js';
import { formatNumber, formatParameter, plural } from '../format/numbers.js';
import type { ModelErrorKind, ReplyFault } from '../models/language-model.js';
import type { IndexedText } from '../prompting/answer/parse.js';
import type { CallRecord, LoggedFailure } from './calls.js';

export const faultMeaning: Readonly<Record<ModelErrorKind | ReplyFault, string>> = {
  'rate-limit': 'the provider refused further requests for now',
  quota: 'the provider takes no requests for longer than `model.maxRetryAfterSeconds`',
  server: 'the provider failed',
  network: 'no connection',
  cut: 'the connection broke before the answer was complete',
  timeout: 'no reply before the deadline',
  html: 'a web page in the place of an answer',
  malformed: 'no JSON, or JSON of another shape than the protocol says',
  empty: 'an answer without a completion in it',
  'content-filter': 'stopped or refused by the provider for its content',
  'too-long': "the prompt is longer than the model's context",
  authentication: 'the key was not accepted',
  'not-found': 'no such model or address',
  'bad-request': 'the request was not accepted',
  'not-recorded': 'the replayed run has no such call',
  aborted: 'stopped by the user, or by a limit of time',
  'no-text': 'a reply without text',
  loop: 'one phrase over and over, up to the limit of its length',
  overlong: 'a reply longer than was asked for',
  'prompt-cut': 'the server read less than was sent',
  'usage-missing': 'no token counts: they are estimated',
  'usage-wrong': "token counts that can't be right: what is missing is estimated",
};

/** Kind of a failed call in the tables of a report. */
export type FailureKind = LoggedFailure['kind'] | `error: ${ModelErrorKind}`;

export function failureKind(
  outcome: { readonly kind: 'accepted' } | CallRecord['outcome'],
): FailureKind | undefined {
  switch (outcome.kind) {
    case 'accepted':
      return undefined;
    case 'rejected':
      return outcome.failure.kind;
    case 'error':
      return `error: ${outcome.error}`;
  }
}

export function failureMeaning(kind: FailureKind): string {
  return kind.startsWith('error: ')
    ? faultMeaning[kind.slice('error: '.length) as ModelErrorKind]
    : rejectionMeaning[kind as LoggedFailure['kind']];
}

const rejectionMeaning: Readonly<Record<LoggedFailure['kind'], string>> = {
  missing: 'no parameters in the reply',
  count: 'indices absent, or too many',
  range: 'a value outside the range or not among the choices',
  decimals: 'more decimals than allowed',
  'duplicate-index': 'an index given twice with different values',
  'not-finite': 'something that is no finite number',
  repeated: 'parameters that were evaluated before',
  'too-close': 'parameters too close to some that were evaluated (`novelty`)',
  'too-far': 'a revision that changes more than it may (`critic.distance`)',
  'no-feedback': 'neither a rating nor a remark in the reply (`feedback`)',
  truncated: 'the reply was cut at its token limit',
  echo: 'only sets that the prompt shows, or the example of the format',
  ambiguous: 'a reply that an earlier version could read in two ways',
};

/** Why a reply was rejected, and how it begins. */
export function rejectionText({ completion, outcome }: CallRecord, characters = 80): string {
  const explained = outcome.kind === 'rejected' ? explainFailure(outcome.failure) : '';
  const line = completion?.text.replaceAll(/\s+/g, ' ').trim() ?? '';
  if (line === '') return `${explained} It is empty.`;
  const start = line.length > characters ? `${line.slice(0, characters).trimEnd()} …` : line;
  return `${explained} It begins: “${start}”`;
}

export function explainFailure(failure: LoggedFailure): string {
  switch (failure.kind) {
    case 'missing':
      return 'The reply holds no parameters.';
    case 'count': {
      const parts = [`Found ${failure.found} of ${plural(failure.expected, 'parameter')}`];
      if (failure.absent.length > 0) parts.push(`absent: ${listIndices(failure.absent)}`);
      if (failure.unknown.length > 0) parts.push(`not asked for: ${listIndices(failure.unknown)}`);
      return `${parts.join('; ')}.`;
    }
    case 'range': {
      const allowed = failure.choices
        ? `one of ${shortList(failure.choices.map(formatParameter))}`
        : `${formatNumber(failure.low)} to ${formatNumber(failure.high)}`;
      return `Not ${failure.choices ? allowed : `within ${allowed}`}: ${listValues(failure.values)}.`;
    }
    case 'decimals':
      return `More than ${plural(failure.decimals, 'decimal')}: ${listValues(failure.values)}.`;
    case 'duplicate-index':
      return `Given twice with different values: ${listIndices(failure.indices)}.`;
    case 'not-finite':
      return `Not a finite number: ${listValues(failure.values)}.`;
    case 'too-close': {
      const where = failure.iteration === undefined ? '' : ` of iteration ${failure.iteration}`;
      return `These parameters are ${formatNumber(failure.distance, 3)} from some${where}; novelty.distance asks for ${formatNumber(failure.least, 3)}.`;
    }
    case 'too-far':
      return `The revision changes ${formatNumber(failure.distance, 3)} of the range, or of a table's entries; critic.distance allows ${formatNumber(failure.most, 3)}.`;
    case 'repeated': {
      const where = failure.iteration === undefined ? 'before' : `in iteration ${failure.iteration}`;
      const score = failure.score === undefined ? '' : `, with score ${formatNumber(failure.score)}`;
      return `These parameters were evaluated ${where}${score}.`;
    }
    case 'no-feedback':
      return 'The reply holds neither a rating from 1 to 5 nor a remark.';
    case 'truncated':
      return 'The reply was cut at its token limit before the answer was complete.';
    case 'echo':
      return 'The reply holds only sets that the prompt shows, or the example of the format.';
    case 'ambiguous':
      return `The reply can be read in two ways: ${failure.readings.join('; or ')}.`;
    default:
      return unreachable(failure);
  }
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
