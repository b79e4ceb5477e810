import { Document, isMap, isScalar, type Pair } from 'yaml';
import type { ImportNote } from './draft.js';
import type { ImportedConfig } from './import-config.js';

/** The imported config as YAML: beside each field the key it is from, at the end what was left out. */
export function importedYaml({ program, config, notes }: ImportedConfig, file: string): string {
  const document = new Document(config, { aliasDuplicateObjects: false });
  for (const [path, origins] of originsByPath(notes)) {
    const pair = pairAt(document, path.split('.'));
    if (pair === undefined) continue;
    const reasons = origins.flatMap((note) =>
      note.kind === 'changed' ? [`${note.key}: ${note.reason}`] : [],
    );
    if (reasons.length > 0 && isScalar(pair.key)) pair.key.commentBefore = comment(reasons);
    else if (isScalar(pair.value)) pair.value.comment = comment([origins.map(({ key }) => key).join(', ')]);
  }
  document.commentBefore = comment([`Imported from ${file}, a config of ${program}.`]);
  const left = notes.flatMap((note) => {
    if (note.kind === 'dropped') return [`${note.key}: ${note.reason}`];
    return note.kind === 'changed' && note.to.length === 0 ? [`${note.key}: ${note.reason}`] : [];
  });
  if (left.length > 0) document.comment = comment(['Left out:', ...left]);
  return document.toString({ lineWidth: 0 });
}

/** YAML begins a comment with the sign alone. Line breaks of their keys would end it. */
const comment = (lines: readonly string[]): string =>
  lines.map((line) => ` ${line.replaceAll(/\p{C}/gu, '?')}`).join('\n');

/** A reason is told once: at the first of the fields it made. */
function originsByPath(
  notes: readonly ImportNote[],
): ReadonlyMap<string, readonly Exclude<ImportNote, { kind: 'dropped' }>[]> {
  const origins = new Map<string, Exclude<ImportNote, { kind: 'dropped' }>[]>();
  for (const note of notes) {
    if (note.kind === 'dropped') continue;
    for (const [i, path] of note.to.entries()) {
      const brief = i === 0 ? note : ({ ...note, kind: 'carried' } as const);
      origins.set(path, [...(origins.get(path) ?? []), brief]);
    }
  }
  return origins;
}

function pairAt(document: Document, path: readonly string[]): Pair | undefined {
  const holder: unknown = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(holder)) return undefined;
  return holder.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
}
