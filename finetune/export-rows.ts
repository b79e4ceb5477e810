/** Examples as rows of a file, in our own format and in those of other trainers. */
import { UserError, unreachable } from '../src/errors.js';
import {
  type Example,
  type Imitation,
  type Lineage,
  type Preference,
  type Recipe,
  sha256,
} from './example.js';
import { openaiDpoRow, openaiSftRow } from './export-openai.js';
import { trlDpoRow, trlKtoRows, trlSftRow } from './export-trl.js';

export const rowFormats = ['jsonl', 'trl-sft', 'trl-dpo', 'trl-kto', 'openai-sft', 'openai-dpo'] as const;
export type RowFormat = (typeof rowFormats)[number];

/** A row, and where it comes from: other trainers' formats have no place for that. */
export interface Row {
  readonly content: object;
  readonly lineage: Lineage;
}

/** @throws UserError for a format that needs what the recipe doesn't make */
export function requireExportable(recipe: Recipe, format: RowFormat): void {
  if (format === 'jsonl' || isPaired(format) === (recipe === 'preference')) return;
  throw new UserError({
    field: '--format',
    message: isPaired(format)
      ? `this format holds pairs of answers; the recipe ${recipe} makes single ones`
      : 'this format holds single answers; the recipe preference makes pairs',
    value: format,
    alternatives: rowFormats.filter((other) => other === 'jsonl' || isPaired(other) !== isPaired(format)),
    ...(isPaired(format) && { remedy: 'or take --recipe preference' }),
  });
}

/** Whether a format holds pairs (or, for KTO, what pairs give). */
function isPaired(format: Exclude<RowFormat, 'jsonl'>): boolean {
  return format === 'trl-dpo' || format === 'trl-kto' || format === 'openai-dpo';
}

/** The rows of a file. @throws UserError as `requireExportable` does */
export function exportRows(examples: readonly Example[], format: RowFormat): readonly Row[] {
  switch (format) {
    case 'jsonl':
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
      return unreachable(format);
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
