/** Converts examples to rows, in our own format and in other trainers' formats. */
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { UserError } from '../../src/base/errors.js';
import { version } from '../../src/base/package.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import {
  type Example,
  type Imitation,
  type Lineage,
  type Preference,
  type Recipe,
  type RowFormat,
  rowFormats,
  sha256,
} from './example.js';

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
  'repaired?': text,
  'rejected?': { kind: 'struct', fields: evaluated },
};

interface Row {
  readonly content: object;
  readonly lineage: Lineage;
}

/** @throws UserError if the format can't store the recipe's kind of examples */
export function requireExportable(recipe: Recipe, format: RowFormat): void {
  if (isOwn(format) || isPaired(format) === (recipe === 'preference')) return;
  throw new UserError({
    field: '--format',
    message: isPaired(format)
      ? `this format is for pairs of answers; the recipe ${recipe} makes single answers`
      : 'this format is for single answers; the recipe preference makes pairs',
    value: format,
    alternatives: rowFormats.filter((other) => isOwn(other) || isPaired(other) !== isPaired(format)),
    ...(isPaired(format) && { remedy: 'or use --recipe preference' }),
  });
}

/** @throws UserError if `requireExportable` does */
export function exportRows(examples: readonly Example[], format: RowFormat): readonly Row[] {
  const shape = shapeOf(format);
  for (const { lineage } of examples) requireExportable(lineage.recipe, format);
  const rows = examples.flatMap((example) =>
    contentsOf(example, shape).map((content): Row => ({ content, lineage: example.lineage })),
  );
  return shape === 'trl-kto' ? withoutRepeats(rows) : rows;
}

/** Returns nothing for a pair in a single-answer format, and vice versa. */
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

/** Removes repeated answers to a prompt: a winner appears in a pair with each of the other candidates. */
function withoutRepeats(rows: readonly Row[]): readonly Row[] {
  const first = new Map<string, Row>();
  for (const row of rows) {
    const key = sha256(JSON.stringify(row.content));
    if (!first.has(key)) first.set(key, row);
  }
  return [...first.values()];
}

// Rows for OpenAI's fine-tuning API and compatible APIs.

const answer = (content: string): ChatMessage => ({ role: 'assistant', content });

/** Row for supervised fine-tuning. Earlier answers get weight 0, so that only the last answer is learned. */
function openaiSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  const earlier = prompt.map(({ role, content }) =>
    role === 'assistant' ? { role, content, weight: 0 } : { role, content },
  );
  return { messages: [...earlier, answer(completion)] };
}

function openaiDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return {
    input: { messages: prompt },
    preferred_output: [answer(chosen)],
    non_preferred_output: [answer(rejected)],
  };
}

/** Row for `SFTTrainer`; prompt and completion are separate, so only the completion contributes to the loss. */
export function trlSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  return { prompt, completion: [answer(completion)] };
}

export function trlDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return { prompt, chosen: [answer(chosen)], rejected: [answer(rejected)] };
}

/** Rows for `KTOTrainer`: both answers of a pair, each with its own label. */
function trlKtoRows({ prompt, chosen, rejected }: Preference) {
  return [
    { prompt, completion: [answer(chosen)], label: true },
    { prompt, completion: [answer(rejected)], label: false },
  ];
}

type Column =
  | { readonly kind: 'text' | 'number' | 'count' | 'boolean' | 'messages' }
  | { readonly kind: 'struct'; readonly fields: Columns };

/** Columns by name, in order. A `?` at the end of a name marks an optional column. */
type Columns = Readonly<Record<string, Column>>;

/** Number of rows encoded at a time, to limit memory. */
const rowGroup = 1000;

/** Writes rows to a Parquet file. Replaces an existing file. */
export function writeParquet(path: string, columns: Columns, rows: readonly object[]): void {
  const fields = Object.entries(columns).map(([name, column]) => schemaOf(name, column));
  const writer = new ParquetWriter({
    writer: fileWriter(path),
    schema: [{ name: 'schema', num_children: fields.length }, ...fields.flat()],
    createdBy: `policyloop ${version()}`,
  });
  const names = Object.keys(columns);
  for (let from = 0; from < rows.length; from += rowGroup) {
    const group = rows.slice(from, from + rowGroup) as readonly Readonly<Record<string, unknown>>[];
    // `write` returns no promise here, because a file writer is synchronous.
    void writer.write({
      columnData: names.map((name) => ({ name, data: group.map((row) => row[name]) })),
      rowGroupSize: rowGroup,
    });
  }
  void writer.finish();
}

const flatTypes: Readonly<Record<string, Partial<SchemaElement>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'DOUBLE' },
  count: { type: 'INT32' },
  boolean: { type: 'BOOLEAN' },
};

/** Schema element of a column, followed by the schema elements of its fields. */
function schemaOf(key: string, column: Column): readonly SchemaElement[] {
  const name = key.replace(/\?$/, '');
  const repetition_type = name === key ? 'REQUIRED' : 'OPTIONAL';
  switch (column.kind) {
    case 'messages':
      return [
        { name, converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1, repetition_type },
        { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
        ...schemaOf('element', message),
      ];
    case 'struct': {
      const fields = Object.entries(column.fields).map(([field, inner]) => schemaOf(field, inner));
      return [{ name, num_children: fields.length, repetition_type }, ...fields.flat()];
    }
    default:
      return [{ name, ...flatTypes[column.kind], repetition_type }];
  }
}

const message: Column = { kind: 'struct', fields: { role: { kind: 'text' }, content: { kind: 'text' } } };
