import { isMapping } from '../../settings/schema.js';

/** The config of another program, as parsed from YAML. */
export type TheirConfig = Readonly<Record<string, unknown>>;

/** What became of one key. `key` and `to` are dotted paths, into their config and ours. */
export type ImportNote =
  /** It says the same here; `to` is empty where it says nothing, or what holds here anyway. */
  | { readonly kind: 'carried'; readonly key: string; readonly to: readonly string[] }
  /** It is not quite what they wrote: corrected, or meant a little differently here. */
  | {
      readonly kind: 'changed';
      readonly key: string;
      readonly to: readonly string[];
      readonly reason: string;
    }
  | { readonly kind: 'dropped'; readonly key: string; readonly reason: string };

/** Fields of a config of ours, by dotted path. */
export type Fields = Readonly<Record<string, unknown>>;

/** A config of ours in the making, with the notes on what went into it. */
export interface Draft {
  readonly theirs: TheirConfig;
  readonly config: Record<string, unknown>;
  readonly notes: ImportNote[];
}

export function newDraft(theirs: TheirConfig): Draft {
  return { theirs, config: {}, notes: [] };
}

/** Sets fields that say what `key` says. */
export function carry(draft: Draft, key: string, fields: Fields = {}): void {
  draft.notes.push({ kind: 'carried', key, to: assign(draft, fields) });
}

/** Sets fields that say something else, or less, than `key` does. */
export function change(draft: Draft, key: string, reason: string, fields: Fields = {}): void {
  draft.notes.push({ kind: 'changed', key, to: assign(draft, fields), reason });
}

export function drop(draft: Draft, key: string, reason: string): void {
  draft.notes.push({ kind: 'dropped', key, reason });
}

/** The value of a key; undefined where it is absent, null, or the word None. */
export function given(theirs: TheirConfig, key: string): unknown {
  const value = Object.hasOwn(theirs, key) ? theirs[key] : undefined;
  return value === null || value === 'None' || value === '' ? undefined : value;
}

/** A value that Python takes for true. */
export const isOn = (value: unknown): boolean => value === true || value === 'True' || value === 'true';

/** Sets fields without a word on where they are from; returns their paths. */
export function assign({ config }: Draft, fields: Fields): string[] {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  for (const [path, value] of set) {
    const keys = path.split('.');
    const last = keys.pop()!;
    let holder = config;
    for (const key of keys) {
      const held = Object.hasOwn(holder, key) ? holder[key] : undefined;
      const inner = isMapping(held) ? held : {};
      holder[key] = inner;
      holder = inner;
    }
    holder[last] = value;
  }
  return set.map(([path]) => path);
}
