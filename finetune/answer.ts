/** Completions: evaluated parameters, written as the prompt asks for them. */
import type { ParameterSpec, ParameterVector } from '../src/policies/policy.js';
import {
  formatParameters,
  formatValue,
  parseParameters,
  statedReason,
} from '../src/prompting/parameter-format.js';
import { vectorKey } from '../src/replay-buffer.js';

/** What the prompt asks for: the answer line with the reason below it, or a JSON object. */
export type AnswerFormat = 'text' | 'json';

/** A reason of more characters is no reason of one to three sentences, and is left out. */
const longestReason = 600;

/**
 * The answer that the parser reads back to these parameters. A reason that would change what it reads is left out.
 * @param reason '' for none
 */
export function formatAnswer(
  parameters: ParameterVector,
  spec: ParameterSpec,
  format: AnswerFormat,
  reason = '',
): string {
  const answer = written(parameters, spec, format, reason);
  const read = parseParameters(answer, spec);
  const same = read.ok && vectorKey(read.value) === vectorKey(parameters);
  return same ? answer : written(parameters, spec, format, '');
}

function written(
  parameters: ParameterVector,
  spec: ParameterSpec,
  format: AnswerFormat,
  reason: string,
): string {
  switch (format) {
    case 'text':
      return reason === ''
        ? formatParameters(parameters, spec)
        : `${formatParameters(parameters, spec)}\n${reason}`;
    case 'json': {
      const values = parameters.map((value) => formatValue(value, spec.decimals));
      return `{"reason": ${JSON.stringify(reason)}, "params": [${values.join(', ')}]}`;
    }
  }
}

/** The reason that a reply states, on one line; '' where it states none, or one that is too long to be one. */
export function reasonIn(reply: string): string {
  const reason = statedReason(reply, longestReason + 1);
  return reason.length > longestReason ? '' : reason;
}
