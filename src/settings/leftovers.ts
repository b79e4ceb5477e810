import { type Override, startsWith } from './overrides.js';
import { configJsonSchema, discriminatorOf, isMapping, keysOf, valueAt, variantFor } from './schema.js';

type Content = Record<string, unknown>;

/**
 * Settles what a file still says after its overrides changed what it was written for: fields that a new
 * `model.provider` or `policy.kind` does not have are taken out of `changed`.
 * @param content what the file says
 * @param changed the same with the overrides
 * @returns a note for each thing that was taken out, or that may not suit any more
 */
export function settleLeftovers(
  content: Content,
  changed: Content,
  overrides: readonly Override[],
): readonly string[] {
  return [
    ...dropForeignFields(content, changed, overrides),
    ...environmentNotes(content, changed, overrides),
    ...modelNotes(content, changed, overrides),
  ];
}

function dropForeignFields(
  content: Content,
  changed: Content,
  overrides: readonly Override[],
): readonly string[] {
  return Object.entries(configJsonSchema().properties ?? {}).flatMap(([section, node]) => {
    const discriminator = discriminatorOf(node);
    const [before, after] = [content[section], changed[section]];
    const cause = overrides.findLast((override) => override.path.join('.') === `${section}.${discriminator}`);
    if (discriminator === undefined || cause === undefined || !isMapping(before) || !isMapping(after))
      return [];
    if (before[discriminator] === after[discriminator]) return [];
    const variant = variantFor(node, after);
    if (variant === undefined) return [];
    const foreign = Object.keys(after).filter(
      (key) =>
        !keysOf(variant).includes(key) &&
        Object.hasOwn(before, key) &&
        !overrides.some((override) => startsWith(override.path, [section, key])),
    );
    for (const key of foreign) delete after[key];
    const fields = foreign.map((key) => `${section}.${key}`).join(', ');
    return foreign.length === 0
      ? []
      : [
          `${cause.text}: left out ${fields} of the file, which ${String(after[discriminator])} does not have`,
        ];
  });
}

const tiedToEnvironment = ['policy', 'target', 'prompts.description', 'prompts.optimum', 'prompts.stepSize'];

/** A policy or an optimum of another environment is no error, but worth a word. */
function environmentNotes(
  content: Content,
  changed: Content,
  overrides: readonly Override[],
): readonly string[] {
  const [before, after] = [content, changed].map(({ environment }) =>
    isMapping(environment) ? environment.id : environment,
  );
  const kept = tiedToEnvironment.filter((field) => isFromFile(field, content, overrides));
  if (before === undefined || before === after || kept.length === 0) return [];
  const written = `${kept.length === 1 ? 'was' : 'were'} written for ${String(before)}`;
  return [`environment is now ${String(after)}, but ${kept.join(', ')} in the file ${written}`];
}

function modelNotes(content: Content, changed: Content, overrides: readonly Override[]): readonly string[] {
  const [before, after] = [content.model, changed.model];
  if (!isMapping(before) || !isMapping(after) || before.provider === after.provider) return [];
  if (after.name === undefined || !isFromFile('model.name', content, overrides)) return [];
  return [
    `model.provider is now ${String(after.provider)}, but model.name is still ${String(after.name)}, from the file`,
  ];
}

function isFromFile(field: string, content: Content, overrides: readonly Override[]): boolean {
  const path = field.split('.');
  const isSet = overrides.some(
    (override) => startsWith(path, override.path) || startsWith(override.path, path),
  );
  return valueAt(path, content) !== undefined && !isSet;
}
