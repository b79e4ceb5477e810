/** Converts examples to rows, in our own format and in those of other trainers. */
import { UserError } from '../../src/base/errors.js';
import { type Example, type Lineage, type Recipe, sha256 } from './example.js';
import type { Column, Columns } from './parquet.js';
import {
  openaiDpoRow,
  openaiSftRow,
  type RowFormat,
  rowFormats,
  trlDpoRow,
  trlKtoRows,
  trlSftRow,
} from './row-formats.js';

/** Layout of a row, independent of the file type. */
type RowShape = 'own' | 'trl-sft' | 'trl-dpo' | 'trl-kto' | 'openai-sft' | 'openai-dpo';

function shapeOf(format: RowFormat): RowShape {
  const [shape] = format.split('-parquet') as [Exclude<RowFormat, `${string}-parquet`>];
  return shape === 'jsonl' || shape === 'parquet' ? 'own' : shape;
}

/** True if rows include their weight and lineage. */
export const isOwn = (format: RowFormat): boolean => shapeOf(format) === 'own';

/** True if a format stores pairs (or, for KTO, the two answers of each pair). */
const isPaired = (format: RowFormat): boolean => /-(dpo|kto)/.test(format);

/** Columns of a Parquet format; undefined for JSON Lines. */
export function parquetColumns(format: RowFormat, recipe: Recipe): Columns | undefined {
  if (!format.endsWith('parquet')) return undefined;
  switch (shapeOf(format)) {
    case 'own':
      return ownColumns(recipe);
    case 'trl-sft':
      return { prompt: messages, completion: messages };
    case 'trl-dpo':
      return { prompt: messages, chosen: messages, rejected: messages };
    case 'trl-kto':
      return { prompt: messages, completion: messages, label: { kind: 'boolean' } };
    default:
      return undefined;
  }
}

const messages: Column = { kind: 'messages' };
const text: Column = { kind: 'text' };
const number: Column = { kind: 'number' };
const count: Column = { kind: 'count' };

function ownColumns(recipe: Recipe): Columns {
  const answers = recipe === 'preference' ? { chosen: text, rejected: text } : { completion: text };
  return {
    prompt: messages,
    ...answers,
    weight: number,
    lineage: { kind: 'struct', fields: lineageColumns },
  };
}

const evaluated = { iteration: count, candidate: count, score: number } satisfies Columns;

/** Columns of `Lineage`. The type check fails if a field is missing. */
const lineageColumns: {
  readonly [Field in keyof Lineage as undefined extends Lineage[Field] ? `${Field}?` : Field]-?: Column;
} = {
  run: text,
  environment: text,
  model: text,
  recipe: text,
  'copy?': count,
  prompt: text,
  'promptTokens?': count,
  promptIteration: count,
  history: count,
  'incumbent?': number,
  ...evaluated,
  'rejected?': { kind: 'struct', fields: evaluated },
};

/** A row, and its lineage, which other trainers' formats have no field for. */
export interface Row {
  readonly content: object;
  readonly lineage: Lineage;
}

/** @throws UserError if the recipe doesn't make the examples that the format needs */
export function requireExportable(recipe: Recipe, format: RowFormat): void {
  if (isOwn(format) || isPaired(format) === (recipe === 'preference')) return;
  throw new UserError({
    field: '--format',
    message: isPaired(format)
      ? `this format holds pairs of answers; the recipe ${recipe} makes single ones`
      : 'this format holds single answers; the recipe preference makes pairs',
    value: format,
    alternatives: rowFormats.filter((other) => isOwn(other) || isPaired(other) !== isPaired(format)),
    ...(isPaired(format) && { remedy: 'or take --recipe preference' }),
  });
}

/**
 * The rows of a file.
 * @throws UserError like `requireExportable`
 */
export function exportRows(examples: readonly Example[], format: RowFormat): readonly Row[] {
  const shape = shapeOf(format);
  for (const { lineage } of examples) requireExportable(lineage.recipe, format);
  const rows = examples.flatMap((example) =>
    contentsOf(example, shape).map((content): Row => ({ content, lineage: example.lineage })),
  );
  return shape === 'trl-kto' ? withoutRepeats(rows) : rows;
}

/** Returns no rows for pairs in formats of single answers, or vice versa. */
function contentsOf(example: Example, shape: RowShape): readonly object[] {
  const { prompt, weight, lineage } = example;
  if (example.kind === 'imitation') {
    if (shape === 'trl-sft') return [trlSftRow(example)];
    if (shape === 'openai-sft') return [openaiSftRow(example)];
    return shape === 'own' ? [{ prompt, completion: example.completion, weight, lineage }] : [];
  }
  const { chosen, rejected } = example;
  if (shape === 'trl-dpo') return [trlDpoRow(example)];
  if (shape === 'openai-dpo') return [openaiDpoRow(example)];
  if (shape === 'trl-kto') return trlKtoRows(example);
  return shape === 'own' ? [{ prompt, chosen, rejected, weight, lineage }] : [];
}

/** Removes repeated answers to a prompt: a winner is paired with each of the other candidates. */
function withoutRepeats(rows: readonly Row[]): readonly Row[] {
  const first = new Map<string, Row>();
  for (const row of rows) {
    const key = sha256(JSON.stringify(row.content));
    if (!first.has(key)) first.set(key, row);
  }
  return [...first.values()];
}
