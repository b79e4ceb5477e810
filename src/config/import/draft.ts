/** Functions of both importers: they set fields of our config, and note what became of each imported key. */
import { plainName } from '../../base/files/files.js';
import { isMapping } from '../../base/settings/schema.js';

export type ForeignConfig = Readonly<Record<string, unknown>>;

/** The result of importing one key. `key` is a dotted path in the imported config, `to` lists paths in ours. */
export type ImportNote = {
  readonly key: string;
} /** Same meaning here; `to` is empty if the key has no effect or matches our behaviour anyway. */ & (
  | { readonly kind: 'carried'; readonly to: readonly string[] }
  /** Imported with a change: corrected, or with a slightly different meaning here. */
  | { readonly kind: 'changed'; readonly to: readonly string[]; readonly reason: string }
  | { readonly kind: 'dropped'; readonly reason: string }
);

export type ConfigFields = Readonly<Record<string, unknown>>;

/** Our config under construction, with notes on the origin of its fields. */
export interface ImportDraft {
  readonly foreign: ForeignConfig;
  readonly config: Record<string, unknown>;
  readonly notes: ImportNote[];
}

/** Sets fields and notes that they mean the same as `key` or, if there is a `reason`, why they differ from it. */
export function carry(draft: ImportDraft, key: string, fields: ConfigFields = {}, reason?: string): void {
  const to = assign(draft, fields);
  if (reason === undefined) draft.notes.push({ kind: 'carried', key, to });
  else draft.notes.push({ kind: 'changed', key, to, reason });
}

export function drop(draft: ImportDraft, key: string, reason: string): void {
  draft.notes.push({ kind: 'dropped', key, reason });
}

/** The value of a key; undefined if it is absent, null, empty or `None`. */
export function keyValue(foreign: ForeignConfig, key: string): unknown {
  const value = Object.hasOwn(foreign, key) ? foreign[key] : undefined;
  return value === null || value === 'None' || value === '' ? undefined : value;
}

export const isTrue = (value: unknown): boolean => value === true || value === 'True' || value === 'true';

/** Sets the fields that aren't undefined, without a note; returns their paths. */
export function assign({ config }: ImportDraft, fields: ConfigFields): string[] {
  const setFields = Object.entries(fields).filter(([, value]) => value !== undefined);
  for (const [path, value] of setFields) {
    const keys = path.split('.');
    const lastKey = keys.pop()!;
    let holder = config;
    for (const key of keys) {
      const child = Object.hasOwn(holder, key) ? holder[key] : undefined;
      const inner = isMapping(child) ? child : {};
      holder[key] = inner;
      holder = inner;
    }
    holder[lastKey] = value;
  }
  return setFields.map(([path]) => path);
}

/** Copies values from the imported config: `paths` maps its keys to paths in ours. Skips keys without a value. */
export function carryAll(draft: ImportDraft, paths: Readonly<Record<string, string>>): void {
  for (const [key, path] of Object.entries(paths)) {
    const value = keyValue(draft.foreign, key);
    if (value !== undefined) carry(draft, key, { [path]: value });
  }
}

/** A token budget that no history reaches, because the original programs' prompts show the whole buffer. */
export const unlimitedMemory = { 'memory.tokens': 10_000_000 };

export const templateOf = ({ foreign }: ImportDraft): string =>
  String(keyValue(foreign, 'llm_si_template_name') ?? '');

/** Names the run after the last part of the log directory. */
export function setName(draft: ImportDraft): void {
  const parts = String(keyValue(draft.foreign, 'logdir') ?? '').split(/[\\/]/);
  const name = plainName(parts.findLast((part) => part !== '') ?? '', '');
  if (name !== '') carry(draft, 'logdir', { name }, 'its last part becomes the name; runs are in --runs-dir');
}

/** Replaces the Jinja template of the imported config with one of our prompt sets. */
export function setPrompts(draft: ImportDraft, set: 'numeric' | 'semantic'): void {
  const template = templateOf(draft);
  const isAbsent = template === 'num_optim_semantics.j2';
  const reason = isAbsent ? `${template} doesn't exist in the original; the set ${set} is used` : undefined;
  if (template !== '') carry(draft, 'llm_si_template_name', { 'prompts.set': set }, reason);
}
