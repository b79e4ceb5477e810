/** Generates config references as Markdown and JSON Schema, so that they always match the program. */

import { discriminatorOf, keysOf, type SchemaNode, variantsOf } from '../src/base/settings/schema.js';
import { markdownTable, text } from '../src/base/text/table.js';

/** A schema file in `configs/`, for editors. Sections that occur several times are written once, in `$defs`. */
export function schemaJson(json: SchemaNode, name: string): string {
  const schema = { $id: `urn:policyloop:${name}`, title: `policyloop ${name}`, ...withDefinitions(json) };
  return `${JSON.stringify(schema)}\n`;
}

/** Keys of a section that may differ between the places where it occurs. */
const ofPlace = ['description', 'default', 'like'] as const;

function withDefinitions(root: SchemaNode): object {
  const places = new Map<string, number>();
  const textOf = (node: SchemaNode) => {
    const own = Object.entries(node).filter(([key]) => !ofPlace.some((name) => name === key));
    return JSON.stringify(Object.fromEntries(own));
  };
  const isSection = (node: object): node is SchemaNode =>
    ['properties', 'oneOf', 'anyOf'].some((key) => Object.hasOwn(node, key)) && textOf(node).length > 100;
  const count = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    const text = isSection(value) ? textOf(value) : undefined;
    const times = text === undefined ? 0 : (places.get(text) ?? 0);
    if (text !== undefined) places.set(text, times + 1);
    if (times === 0) for (const part of Object.values(value)) count(part);
  };
  count(root);
  const names = new Map<string, string>();
  const $defs: Record<string, unknown> = {};
  const nameFor = (key: string, { properties = {} }: SchemaNode) => {
    const choice = Object.values(properties).find((node) => node.const !== undefined)?.const;
    const full = choice === undefined ? key : `${key}-${choice}`;
    const taken = Object.keys($defs).filter((name) => name.replace(/-\d+$/, '') === full).length;
    return taken === 0 ? full : `${full}-${taken + 1}`;
  };
  const written = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((part) => written(part, key));
    if (typeof value !== 'object' || value === null) return value;
    const inside = () =>
      Object.fromEntries(
        Object.entries(value).map(([name, part]) => [
          name,
          written(part, ['items', 'oneOf', 'anyOf', 'properties'].includes(name) ? key : name),
        ]),
      );
    const text = isSection(value) ? textOf(value) : '';
    if ((places.get(text) ?? 0) < 2) return inside();
    let name = names.get(text);
    if (name === undefined) {
      name = nameFor(key, value as SchemaNode);
      names.set(text, name);
      $defs[name] = {};
      $defs[name] = Object.fromEntries(
        Object.entries(inside()).filter(([part]) => !ofPlace.some((place) => place === part)),
      );
    }
    const own = Object.entries(value).filter(([part]) => ofPlace.some((place) => place === part));
    return { ...Object.fromEntries(own), $ref: `#/$defs/${name}` };
  };
  const schema = written(root, 'config') as object;
  return Object.keys($defs).length === 0 ? schema : { ...schema, $defs };
}

/** A single table of the top-level keys. */
export function configSummary(json: SchemaNode): string {
  return table('', json);
}

/** Tables of all sections and of their variants, such as providers and kinds of policies. */
export function configReference(json: SchemaNode): string {
  return ['### Top level', configSummary(json), ...sections('', json)].join('\n\n');
}

/**
 * Replaces the reference between the markers `<!-- config-reference:start -->` and `…:end -->`; returns the
 * text unchanged if there are none.
 */
export function withReference(text: string, reference: string, name = 'config'): string {
  const [start, end] = [`<!-- ${name}-reference:start -->`, `<!-- ${name}-reference:end -->`];
  const [from, to] = [text.indexOf(start), text.indexOf(end)];
  if (from < 0 || to < from) return text;
  return `${text.slice(0, from + start.length)}\n\n${reference}\n\n${text.slice(to)}`;
}

/**
 * @param siblings the union that contains the object; for a list of such objects, only the additional keys of
 * its items are documented
 */
function sections(path: string, object: SchemaNode, siblings: readonly SchemaNode[] = []): readonly string[] {
  const found = Object.entries(object.properties ?? {}).flatMap(([key, node]) => {
    const field = `${path}${key}`;
    const variants = objectsIn(node);
    if (variants.length === 0 || node.like !== undefined) return [];
    if (isListOf(siblings, node)) {
      const more = sharedBeside(siblings, variants);
      const body = `Each item is a section like this one, with these additional keys.\n\n${table(`${field}.`, more)}`;
      return [section(`\`${field}\``, node.description, body)];
    }
    const discriminator = discriminatorOf(node);
    const own =
      discriminator === undefined
        ? [
            section(
              `\`${field}\``,
              node.description,
              variants.map((variant) => table(`${field}.`, variant)).join('\n\nor\n\n'),
            ),
          ]
        : variants.map((variant) => variantSection(field, discriminator, variant));
    return [...own, ...variants.flatMap((variant) => sections(`${field}.`, variant, variantsOf(node)))];
  });
  return [...new Set(found)];
}

/** True if a field is a list of objects that also occur on their own in its union. */
function isListOf(siblings: readonly SchemaNode[], { items }: SchemaNode): boolean {
  const key = items && discriminatorOf(items);
  if (key === undefined) return false;
  const choices = (variants: readonly SchemaNode[]) =>
    variants.flatMap((variant) => variant.properties?.[key]?.const ?? []);
  const known = new Set(choices(siblings));
  return choices(variantsOf(items!)).every((choice) => known.has(choice));
}

/** The keys that all variants have and no sibling has. */
function sharedBeside(siblings: readonly SchemaNode[], variants: readonly SchemaNode[]): SchemaNode {
  const properties = Object.entries(variants[0]!.properties ?? {}).filter(
    ([key]) =>
      variants.every((variant) => keysOf(variant).includes(key)) &&
      !siblings.some((sibling) => keysOf(sibling).includes(key)),
  );
  return { type: 'object', properties: Object.fromEntries(properties) };
}

function variantSection(field: string, discriminator: string, variant: SchemaNode): string {
  const { [discriminator]: choice, ...properties } = variant.properties ?? {};
  const title = `\`${field}\` with \`${discriminator}: ${choice?.const}\``;
  const isBare = Object.keys(properties).length === 0;
  return section(
    title,
    choice?.description,
    isBare ? 'It has no other keys.' : table(`${field}.`, { ...variant, properties }),
  );
}

function section(title: string, description: string | undefined, body: string): string {
  return [`### ${title}`, ...(description === undefined ? [] : [`${description}.`]), body].join('\n\n');
}

/** The objects with fixed keys that a field may contain, as its value or as list items. */
function objectsIn(node: SchemaNode): readonly SchemaNode[] {
  return variantsOf(node)
    .flatMap((variant) => (variant.items === undefined ? [variant] : variantsOf(variant.items)))
    .filter((variant) => keysOf(variant).length > 0);
}

function table(path: string, object: SchemaNode): string {
  return markdownTable(Object.entries(object.properties ?? {}), [
    text('Key', ([key]) => ({ text: `${path}${key}`, code: true })),
    text('Type', ([, node]) => typeOf(node)),
    text('Default', ([key, node]) => (object.required?.includes(key) ? 'required' : defaultOf(node))),
    text('Meaning', ([, node]) => node.description ?? ''),
  ]);
}

function defaultOf(node: SchemaNode): string {
  if (node.default === undefined) return '';
  if (typeof node.default !== 'object') return `\`${String(node.default)}\``;
  return objectsIn(node).length > 0 ? 'its section' : `\`${JSON.stringify(node.default)}\``;
}

function typeOf(node: SchemaNode): string {
  const types = variantsOf(node).flatMap((variant) => {
    if (variant.const !== undefined) return [`\`${variant.const}\``];
    if (variant.enum !== undefined) return variant.enum.map((word) => `\`${word}\``);
    switch (variant.type) {
      case 'integer':
      case 'number':
        return [`${variant.type}${rangeOf(variant)}`];
      case 'string':
        return [variant.format === 'uri' ? 'URL' : variant.format === 'path' ? 'path' : 'text'];
      case 'array':
        return [listOf(variant)];
      case 'object':
        return ['mapping'];
      default:
        return [variant.type ?? 'any'];
    }
  });
  return [...new Set(types)].join(', ');
}

function listOf({ items, prefixItems }: SchemaNode): string {
  if (prefixItems !== undefined) return `list of ${prefixItems.length} × ${typeOf(prefixItems[0]!)}`;
  return items === undefined ? 'list' : `list of ${typeOf(items)}`;
}

function rangeOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: SchemaNode): string {
  if (minimum !== undefined && maximum !== undefined) return ` ${minimum} to ${maximum}`;
  const bounds = [
    ...(minimum === undefined ? [] : [`≥ ${minimum}`]),
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(maximum === undefined ? [] : [`≤ ${maximum}`]),
    ...(exclusiveMaximum === undefined ? [] : [`< ${exclusiveMaximum}`]),
  ];
  return bounds.length === 0 ? '' : ` ${bounds.join(', ')}`;
}
