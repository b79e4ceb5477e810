/** Reads evaluations that another system recorded: CSV or JSON Lines with parameters and returns. */
import { readFileSync } from 'node:fs';
import { CsvError, parse } from 'csv-parse/sync';
import { type Problem, UserError } from '../../base/errors.js';
import { parseJson } from '../../base/files/json-depth.js';
import { isMapping } from '../../base/settings/schema.js';
import type { ParameterVector } from '../../policies/policy.js';
import { mean } from '../../statistics/descriptive.js';

/** An evaluation as its system recorded it. */
export interface RecordedEvaluation {
  /** Where it is in the record, e.g. `episode 12`. */
  readonly name: string;
  readonly parameters: ParameterVector;
  /** Return of each episode; empty if only their mean is recorded. */
  readonly returns: readonly number[];
  /** Mean return. */
  readonly score: number;
  /** 1-based line of the file. */
  readonly line?: number;
}

export interface Recorded {
  readonly evaluations: readonly RecordedEvaluation[];
  /** Number of rows with returns but without parameters, which can't be played again. */
  readonly unknown: number;
  /** The best of these rows before the first evaluation, such as a warm-up: what the first new best has to beat. */
  readonly start?: Pick<RecordedEvaluation, 'returns' | 'score'> | undefined;
}

export const isRecordFile = (name: string): boolean => /\.(csv|jsonl|ndjson)$/i.test(name);

/** Columns that name a row, the first that is there. */
const labels = ['episode', 'iteration', 'step', 'evaluation', 'trial', 'generation'];

interface Row {
  readonly line: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * @param file name for error messages
 * @throws UserError that names the line if a column is missing or a value isn't a number; if there are no evaluations
 */
export function readRecord(path: string, file = path): Recorded {
  const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  const rows = /\.csv$/i.test(file) ? csvRows(file, text) : jsonRows(file, text);
  const evaluations: RecordedEvaluation[] = [];
  let unknown = 0;
  let start: Recorded['start'];
  for (const row of rows) {
    const evaluation = evaluationIn(file, row);
    if (evaluation.parameters.length > 0) evaluations.push(evaluation);
    else {
      unknown++;
      if (evaluations.length === 0 && (start === undefined || evaluation.score > start.score))
        start = evaluation;
    }
  }
  if (evaluations.length > 0) return { evaluations, unknown, start };
  throw new UserError({ file, message: 'there is no evaluation with parameters in this file' });
}

function csvRows(file: string, text: string): readonly Row[] {
  try {
    const records = parse(text, {
      columns: (names: readonly string[]) => names.map((name) => name.trim()),
      info: true,
      skip_empty_lines: true,
      trim: true,
      delimiter: delimiterOf(text),
    }) as readonly { readonly record: Record<string, string>; readonly info: { readonly lines: number } }[];
    return records.map(({ record, info }) => ({ line: info.lines, values: record }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines } = error as CsvError & { readonly lines?: number };
    throw new UserError({ file, ...(lines !== undefined && { line: lines }), message: error.message });
  }
}

/** The separator of the header: a comma, a semicolon or a tab. */
const delimiterOf = (text: string): string => /[,;\t]/.exec(text.split('\n', 1)[0]!)?.[0] ?? ',';

const jsonRows = (file: string, text: string): readonly Row[] =>
  text.split('\n').flatMap((line, i): readonly Row[] => {
    if (line.trim() === '') return [];
    const place = { file, line: i + 1 };
    let values: unknown;
    try {
      values = parseJson(line);
    } catch (error) {
      throw new UserError({ ...place, message: `this line is no JSON: ${(error as Error).message}` });
    }
    if (isMapping(values)) return [{ line: i + 1, values }];
    throw new UserError({
      ...place,
      message: 'must be an object with parameters and returns',
      value: values,
    });
  });

/** A row without parameters has an empty vector. */
function evaluationIn(file: string, { line, values }: Row): RecordedEvaluation {
  const place = { file, line };
  const columns = Object.keys(values);
  const missing = (field: string, message: string) =>
    new UserError({
      ...place,
      field,
      message,
      alternatives: columns,
      hint: 'rename the column, or write one',
    });
  if (!('parameters' in values)) throw missing('parameters', 'there is no column with the parameters');
  const field = 'returns' in values ? 'returns' : 'return';
  if (!(field in values))
    throw missing('returns', 'there is no column with the returns, or their mean (return)');
  const parameters = numbersIn(values.parameters, { ...place, field: 'parameters' });
  const returns = numbersIn(values[field], { ...place, field });
  if (returns.length === 0) throw new UserError({ ...place, field, message: 'there is no number' });
  const label = labels.find((name) => typeof values[name] === 'string' || typeof values[name] === 'number');
  const score = mean(returns);
  return {
    name: label === undefined ? `line ${line}` : `${label} ${values[label]}`,
    parameters,
    returns: field === 'returns' ? returns : [],
    score,
    line,
  };
}

/** Largest number of values in a cell. */
const mostNumbers = 100_000;

/** Numbers in a list, or in text: separated by spaces, commas or semicolons, and `-200*20` for twenty times −200. */
function numbersIn(value: unknown, place: Pick<Problem, 'file' | 'line' | 'field'>): readonly number[] {
  const items =
    typeof value === 'string' ? value.split(/[\s,;[\]()]+/).filter((item) => item !== '') : [value].flat();
  const numbers = items.flatMap((item) => {
    const [text = '', times = '1'] = typeof item === 'string' ? item.split('*') : [item];
    const [number, count] = [typeof text === 'string' ? Number(text) : text, Number(times)];
    const isUsable = typeof number === 'number' && Number.isFinite(number) && text !== '';
    if (isUsable && Number.isInteger(count) && count > 0 && count <= mostNumbers)
      return new Array<number>(count).fill(number);
    throw new UserError({
      ...place,
      message: 'must be numbers, separated by spaces or commas',
      value: item,
      hint: 'for a value that repeats, write -200*20',
    });
  });
  if (numbers.length <= mostNumbers) return numbers;
  throw new UserError({ ...place, message: `has more than ${mostNumbers} values`, value: numbers.length });
}
