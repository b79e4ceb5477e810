/** Fills the parts of the model card that are generated: the recipe, and the figures of the benchmark. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadTrainConfig } from '../../finetune/train/train-config.js';
import { UserError } from '../../src/base/errors.js';
import { replaceFile } from '../../src/storage/files.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { type Recipe, readRecipe, recipeFile, shippedModel } from './recipe.js';

export const modelCard = join(shippedModel, 'README.md');

/**
 * Returns the text with the part between `<!-- name -->` and `<!-- /name -->` replaced.
 * @throws UserError if the text has no such markers
 */
export function withBlock(text: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) {
    throw new UserError({
      message: `there is no place for the ${name}`,
      remedy: `write ${begin} and ${end} where they belong`,
    });
  }
  return `${text.slice(0, from + begin.length)}\n${content.trim()}\n${text.slice(to)}`;
}

export function fillBlock(file: string, name: string, content: string): void {
  if (!existsSync(file)) throw new UserError({ value: file, message: 'there is no such file' });
  replaceFile(file, withBlock(readFileSync(file, 'utf8'), name, content));
}

/** Writes the recipe's settings into the card. */
export function fillRecipe(file: string = modelCard): void {
  fillBlock(file, 'recipe', recipeTable());
}

/** All settings and seeds in the recipe's files, including defaults. */
export function recipeTable(): string {
  const { head, heldOut, initial, rounds } = readRecipe();
  const several = rounds.length > 1;
  const rows: readonly (readonly [string, string])[] = [
    ['initial model', compact(initial)],
    ...rounds.flatMap((round, index) => roundRows(round, several ? `round ${index + 1}: ` : '')),
    ...(several
      ? [['kept', `later rounds that win more than half of ${heldOut.tasks} held-out tasks`] as const]
      : []),
    ['language head, fitted afterwards', compact(head)],
  ];
  return ['| Setting | Value |', '|---|---|', ...rows.map(([key, value]) => `| ${key} | ${value} |`)].join(
    '\n',
  );
}

function roundRows(
  { collect, dataset, train }: Recipe['rounds'][number],
  prefix: string,
): readonly (readonly [string, string])[] {
  const collection = loadCollection(recipeFile(collect));
  const { model, dataset: _, output, template, device, ...training } = loadTrainConfig(recipeFile(train));
  const names = (layers: readonly { readonly weight: number; readonly layer: object }[]) =>
    layers.map(({ weight, layer: { ...own } }) => `${weight} × ${compact(own)}`).join('<br>');
  const rows: readonly (readonly [string, string])[] = [
    ['runs', `${collection.runs}, seed ${collection.seed}`],
    ['all runs', compact(collection.experiment)],
    ['tasks (weight × config)', names(collection.tasks)],
    ['proposers (weight × config)', names(collection.proposers)],
    ['examples', compact(dataset)],
    ...Object.entries(training).map(([key, value]): [string, string] => [
      `training: ${key}`,
      typeof value === 'object' ? compact(value) : String(value),
    ]),
  ];
  return rows.map(([key, value]) => [`${prefix}${key}`, value]);
}

/** `a: 1, b: {c: 2}` */
function compact(value: unknown): string {
  const written = (item: unknown): string => {
    if (Array.isArray(item)) return `[${item.map(written).join(', ')}]`;
    if (typeof item === 'object' && item !== null) {
      const { from, to } = item as { from?: unknown; to?: unknown };
      if (from !== undefined && to !== undefined) return `${from} to ${to}`;
      return `{${fields(item)}}`;
    }
    return String(item);
  };
  const fields = (item: object) =>
    Object.entries(item)
      .filter(([, one]) => one !== undefined)
      .map(([key, one]) => `${key}: ${written(one)}`)
      .join(', ');
  return `\`${typeof value === 'object' && value !== null && !Array.isArray(value) ? fields(value) : written(value)}\``;
}
