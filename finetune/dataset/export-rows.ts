/** Examples as rows of a file, in our own format and in those of other trainers. */
import { UserError, unreachable } from '../../src/errors.js';
import {
  type Example,
  type Imitation,
  type Lineage,
  type Preference,
  type Recipe,
  sha256,
} from './example.js';
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

/** What the rows are, whatever file they stand in. */
type RowShape = 'own' | 'trl-sft' | 'trl-dpo' | 'trl-kto' | 'openai-sft' | 'openai-dpo';

const layouts: Readonly<Record<RowFormat, { readonly shape: RowShape; readonly parquet: boolean }>> = {
  jsonl: { shape: 'own', parquet: false },
  parquet: { shape: 'own', parquet: true },
  'trl-sft': { shape: 'trl-sft', parquet: false },
  'trl-dpo': { shape: 'trl-dpo', parquet: false },
  'trl-kto': { shape: 'trl-kto', parquet: false },
  'trl-sft-parquet': { shape: 'trl-sft', parquet: true },
  'trl-dpo-parquet': { shape: 'trl-dpo', parquet: true },
  'trl-kto-parquet': { shape: 'trl-kto', parquet: true },
  'openai-sft': { shape: 'openai-sft', parquet: false },
  'openai-dpo': { shape: 'openai-dpo', parquet: false },
};

const shapeOf = (format: RowFormat): RowShape => layouts[format].shape;

/** Whether rows hold their weight and lineage themselves. */
export const isOwn = (format: RowFormat): boolean => shapeOf(format) === 'own';

/** The columns of a format that is written as Parquet; undefined for one that is written as JSON Lines. */
export function parquetColumns(format: RowFormat, recipe: Recipe): Columns | undefined {
  const { shape, parquet } = layouts[format];
  if (!parquet) return undefined;
  switch (shape) {
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

/** The columns of `Lineage`; the type tells of one that is forgotten. */
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

/** A row, and where it comes from: other trainers' formats have no place for that. */
export interface Row {
  readonly content: object;
  readonly lineage: Lineage;
}

/** @throws UserError for a format that needs what the recipe doesn't make */
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

/** Whether a format holds pairs (or, for KTO, what pairs give). */
function isPaired(format: RowFormat): boolean {
  const shape = shapeOf(format);
  return shape === 'trl-dpo' || shape === 'trl-kto' || shape === 'openai-dpo';
}

/** The rows of a file. @throws UserError as `requireExportable` does */
export function exportRows(examples: readonly Example[], format: RowFormat): readonly Row[] {
  const shape = shapeOf(format);
  switch (shape) {
    case 'own':
      return examples.map((example) => ({ content: ownRow(example), lineage: example.lineage }));
    case 'trl-sft':
      return rows(imitations(examples, format), trlSftRow);
    case 'openai-sft':
      return rows(imitations(examples, format), openaiSftRow);
    case 'trl-dpo':
      return rows(preferences(examples, format), trlDpoRow);
    case 'openai-dpo':
      return rows(preferences(examples, format), openaiDpoRow);
    case 'trl-kto':
      return judgements(preferences(examples, format));
    default:
      return unreachable(shape);
  }
}

/** `{prompt, completion, weight, lineage}`, or `{prompt, chosen, rejected, weight, lineage}`. */
function ownRow(example: Example): object {
  const { prompt, weight, lineage } = example;
  return example.kind === 'imitation'
    ? { prompt, completion: example.completion, weight, lineage }
    : { prompt, chosen: example.chosen, rejected: example.rejected, weight, lineage };
}

function rows<T extends Example>(examples: readonly T[], row: (example: T) => object): readonly Row[] {
  return examples.map((example) => ({ content: row(example), lineage: example.lineage }));
}

/** Each answer to a prompt once: a winner stands in a pair with every other candidate. */
function judgements(examples: readonly Preference[]): readonly Row[] {
  const first = new Map<string, Row>();
  for (const example of examples) {
    const { lineage } = example;
    for (const content of trlKtoRows(example)) {
      const key = sha256(JSON.stringify([lineage.prompt, content.completion, content.label]));
      if (!first.has(key)) first.set(key, { content, lineage });
    }
  }
  return [...first.values()];
}

function imitations(examples: readonly Example[], format: RowFormat): readonly Imitation[] {
  return examples.map((example) => {
    if (example.kind === 'imitation') return example;
    throw wrongKind(example, format);
  });
}

function preferences(examples: readonly Example[], format: RowFormat): readonly Preference[] {
  return examples.map((example) => {
    if (example.kind === 'preference') return example;
    throw wrongKind(example, format);
  });
}

function wrongKind({ lineage }: Example, format: RowFormat): Error {
  requireExportable(lineage.recipe, format);
  return new Error(`an example of the recipe ${lineage.recipe} is not of its kind`);
}
