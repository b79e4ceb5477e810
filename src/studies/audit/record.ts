/** Reads evaluations that another system recorded: CSV or JSON Lines with parameters and returns. */
import { existsSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import { messageOf, type Problem, UserError } from '../../base/errors.js';
import { parseJson } from '../../base/files/json-depth.js';
import { readRegularFile } from '../../base/files/regular-file.js';
import { isMapping } from '../../base/settings/schema.js';
import type { ParameterVector } from '../../policies/policy.js';
import { mean } from '../../statistics/descriptive.js';

/** An evaluation as recorded by the system that made it (another program, or a run). */
export interface RecordedEvaluation {
  /** Position in the record, e.g. `episode 12`. */
  readonly name: string;
  readonly parameters: ParameterVector;
  /** Return of each episode; empty if only their mean is recorded. */
  readonly returns: readonly number[];
  /** Mean return. */
  readonly score: number;
  /** 1-based line of the file; absent for an evaluation of a run. */
  readonly line?: number;
}

export interface AuditRecord {
  readonly evaluations: readonly RecordedEvaluation[];
  /** Number of rows with returns but without parameters, which can't be played again. */
  readonly unknown: number;
  /** The best of the rows without parameters at the start; only a better first evaluation counts as a new best. */
  readonly start?: Pick<RecordedEvaluation, 'returns' | 'score'> | undefined;
}

interface RecordRow {
  readonly line: number;
  /** The line that contains the names of the values. */
  readonly headerLine: number;
  readonly values: Readonly<Record<string, unknown>>;
}

const maxRecordBytes = 128 * 2 ** 20;

/**
 * @param file the path as given: its extension selects CSV or JSON Lines, and error messages show it
 * @throws UserError if the extension or the file is unusable, a row is malformed, or no row has parameters
 */
export function readRecord(path: string, file: string): AuditRecord {
  const [extension] = /\.(csv|jsonl)$/i.exec(file) ?? [];
  if (extension === undefined)
    throw new UserError({ file, message: 'must end in .csv or .jsonl', hint: 'rename or convert the file' });
  if (!existsSync(path))
    throw new UserError({ file, message: 'there is no such file', hint: 'check its path' });
  const text = readRegularFile(path, maxRecordBytes)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
  const rows = extension.toLowerCase() === '.csv' ? csvRows(file, text) : jsonRows(file, text);
  const allEvaluations = rows.map((row) => evaluationIn(file, row));
  const firstIndex = allEvaluations.findIndex(({ parameters }) => parameters.length > 0);
  if (firstIndex < 0)
    throw new UserError({
      file,
      message: 'there is no evaluation with parameters in this file',
      hint: 'write one per line, with the columns parameters and returns',
    });
  const evaluations = allEvaluations.filter(({ parameters }) => parameters.length > 0);
  const [start] = allEvaluations.slice(0, firstIndex).toSorted((a, b) => b.score - a.score);
  return { evaluations, unknown: allEvaluations.length - evaluations.length, start };
}

const repairHint = 'fix this line, or export the file again';

function csvRows(file: string, text: string): readonly RecordRow[] {
  try {
    const records = parse(text, {
      columns: (names: readonly string[]) => names.map((name) => name.trim()),
      info: true,
      skip_empty_lines: true,
      trim: true,
      // The first separator in the header.
      delimiter: /[,;\t]/.exec(text.split('\n', 1)[0]!)?.[0] ?? ',',
    }) as readonly { readonly record: Record<string, string>; readonly info: { readonly lines: number } }[];
    return records.map(({ record, info }) => ({ line: info.lines, headerLine: 1, values: record }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error as CsvError & { readonly lines?: number };
    throw new UserError({ file, ...(lines && { line: lines }), message: error.message, hint: repairHint });
  }
}

const jsonRows = (file: string, text: string): readonly RecordRow[] =>
  text.split('\n').flatMap((lineText, i): readonly RecordRow[] => {
    if (lineText.trim() === '') return [];
    const line = i + 1;
    const problem = (message: string) =>
      new UserError({ file, line, message, value: lineText.slice(0, 80), hint: repairHint });
    let values: unknown;
    try {
      values = parseJson(lineText);
    } catch (error) {
      throw problem(`is not valid JSON: ${messageOf(error)}`);
    }
    if (isMapping(values)) return [{ line, headerLine: line, values }];
    throw problem('must be an object with parameters and returns');
  });

/** Reads a row as an evaluation; its vector is empty if the row has no parameters. */
function evaluationIn(file: string, { headerLine, line, values }: RecordRow): RecordedEvaluation {
  const field = 'return' in values && !('returns' in values) ? 'return' : 'returns';
  for (const column of ['parameters', field])
    if (!(column in values))
      throw new UserError({
        file,
        line: headerLine,
        message: `there is no column or key \`${column}\`${column === 'returns' ? ' (or `return`, for their mean)' : ''}`,
        value: Object.keys(values).join(', '),
        hint: `add \`${column}\`, or rename the column or key that contains them`,
      });
  const parameters = numbersIn(values.parameters, { file, line, field: 'parameters' });
  const returns = numbersIn(values[field], { file, line, field });
  if (returns.length === 0)
    throw new UserError({
      file,
      line,
      field,
      message: 'must contain a number',
      hint: 'add one, or delete the row',
    });
  const [label] = Object.entries(values).filter(([name]) => /^(episode|iteration|step|trial)$/.test(name));
  return {
    name: label === undefined ? `line ${line}` : label.join(' '),
    parameters,
    returns: field === 'returns' ? returns : [],
    score: mean(returns),
    line,
  };
}

const maxNumbers = 100_000;
/** Squares of much larger numbers overflow. */
const maxMagnitude = 1e150;

/** Reads numbers from a list, or from text with spaces, commas or semicolons; `-200*20` means twenty times −200. */
function numbersIn(value: unknown, position: Pick<Problem, 'file' | 'line' | 'field'>): readonly number[] {
  const items =
    typeof value === 'string' ? value.split(/[\s,;[\]()]+/).filter((item) => item !== '') : [value].flat();
  return items.flatMap((item) => {
    const [text = '', times = '1'] = typeof item === 'string' ? item.split('*') : [item];
    const [number, count] = [typeof text === 'string' && text !== '' ? Number(text) : text, Number(times)];
    const isCount = Number.isInteger(count) && count > 0 && count * items.length <= maxNumbers;
    if (typeof number === 'number' && Math.abs(number) <= maxMagnitude && isCount)
      return new Array<number>(count).fill(number);
    throw new UserError({
      ...position,
      message: `must be at most ${maxNumbers} numbers between -1e150 and 1e150, separated by spaces or commas`,
      value: item,
      hint: 'a value that repeats can be written as -200*20 (20 times -200)',
    });
  });
}
