/** Findings of a check, and their format on a terminal. */

import { formatProblem, type Problem } from '../../base/errors.js';
import { largest } from '../../statistics/descriptive.js';

/** A result of a check; with level `ok`, the message is information rather than a problem. */
export interface Finding extends Problem {
  readonly level: 'ok' | 'warning' | 'error';
}

export const okFinding = (field: string, message: string): Finding => ({ level: 'ok', field, message });

export const warningFinding = (problem: Problem): Finding => ({ level: 'warning', ...problem });

export const errorsIn = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ level }) => level === 'error');

export const warningsIn = (findings: readonly Finding[]): readonly Finding[] =>
  findings.filter(({ level }) => level === 'warning');

/** Formats one line per finding, with its value, alternatives and hint indented below. */
export function describeFindings(findings: readonly Finding[]): string {
  const width = largest([0, ...findings.map(({ field }) => (field ?? '').length)]);
  return findings
    .map(({ level, field = '', ...problem }) => {
      const [firstLine, ...details] = formatProblem(problem).split('\n');
      const head = `${level.padEnd(7)}  ${field.padEnd(width)}  ${firstLine}`;
      return [head, ...details.map((line) => `${' '.repeat(11 + width)}${line.trim()}`)].join('\n');
    })
    .join('\n');
}
