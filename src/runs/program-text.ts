/** Formats programs as text for people. */
import { safeText } from '../base/terminal-text.js';
import { plural } from '../base/text/numbers.js';
import type { ParameterVector } from '../policies/policy.js';

interface RecordedEntry {
  readonly parameters: ParameterVector;
  readonly program?: string | undefined;
}

/** Example: `program, 12 lines, 3 constants`; without a program, `programs`. */
export function programTitle(entry: RecordedEntry | undefined): string {
  if (entry?.program === undefined) return 'programs';
  const lineCount = entry.program.trimEnd().split('\n').length;
  return `program, ${plural(lineCount, 'line')}, ${plural(entry.parameters.length - 1, 'constant')}`;
}

/** The hash of a program's structure as 12 hexadecimal digits. */
export const structureText = ([structure = 0]: ParameterVector): string =>
  structure.toString(16).padStart(12, '0');

const maxLines = 60;

/**
 * The lines of a source, indented so that none can be mistaken for policyloop's own output. Lines after the 60th are
 * omitted if there are at least two.
 * @param command command that shows the whole source
 */
export function sourceLines(source: string, indent: number, command: string): readonly string[] {
  const lines = safeText(source.trimEnd()).split('\n');
  const omittedCount = lines.length - maxLines;
  const shown = omittedCount > 1 ? lines.slice(0, maxLines) : lines;
  return [
    ...shown.map((line) => `${' '.repeat(indent)}${line}`),
    ...(omittedCount > 1 ? [`${' '.repeat(indent)}… ${omittedCount} more lines: ${command}`] : []),
  ];
}
