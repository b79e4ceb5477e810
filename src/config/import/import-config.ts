/** Converts configs of ProPS (Prompted Policy Search) and of LLM-RL-finetune to ours. */

import { Document, isMap, isScalar, type Pair } from 'yaml';
import { nearest, UserError } from '../../base/errors.js';
import { parseOverride } from '../../settings/overrides.js';
import { isMapping } from '../../settings/schema.js';
import { carry, drop, given, type ImportNote, newDraft, type TheirConfig } from './draft.js';
import type { Dialect } from './keys.js';
import { llmRlFinetune, runnerOf } from './llm-rl-finetune.js';
import { props } from './props.js';

export interface ImportedConfig {
  readonly program: string;
  /** The equivalent config in our format, unchecked and without defaults. */
  readonly config: Record<string, unknown>;
  /** At least one note per key of the imported config. */
  readonly notes: readonly ImportNote[];
}

/** Recognises a config of either program by its `gym_env_name`. */
export function isForeignConfig(content: unknown): content is TheirConfig {
  return isMapping(content) && Object.hasOwn(content, 'gym_env_name');
}

/**
 * Translates their keys to ours. Pure: reads no files and creates no environment.
 * @throws UserError, whose `field` is one of their keys, for values that can't be imported
 */
export function importConfig(theirs: TheirConfig): ImportedConfig {
  const dialect = dialectOf(theirs);
  const draft = newDraft(theirs);
  const reading = dialect.read(draft);
  const problems: UserError[] = [];
  for (const [key, importKey] of Object.entries(dialect.keys)) {
    const value = given(theirs, key);
    if (value === undefined) {
      if (Object.hasOwn(theirs, key)) carry(draft, key);
      continue;
    }
    try {
      importKey(draft, key, value, reading);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error);
    }
  }
  if (problems.length > 0) throw new UserError(problems.flatMap((error) => error.problems));
  for (const key of Object.keys(theirs)) {
    if (!Object.hasOwn(dialect.keys, key)) drop(draft, key, unknownKey(key, dialect));
  }
  return { program: dialect.name, config: draft.config, notes: draft.notes };
}

function isForeignKey(key: string): boolean {
  return [props, llmRlFinetune].some(({ keys }) => Object.hasOwn(keys, key));
}

/**
 * Applies overrides of their keys (`num_episodes=5`, `env_kwargs.is_slippery=false`), as their command lines do.
 * @returns their config with these applied, and the remaining overrides
 */
export function applyTheirOverrides(
  theirs: TheirConfig,
  texts: readonly string[],
): { readonly theirs: TheirConfig; readonly others: readonly string[] } {
  const changed: Record<string, unknown> = structuredClone({ ...theirs });
  const others = texts.filter((text) => {
    const [first = ''] = text.split(/[.=]/);
    if (!isForeignKey(first)) return true;
    const override = parseOverride(text, 'num_episodes=5 or seed=7');
    if ('message' in override) throw new UserError(override);
    const [key = '', option, ...deeper] = override.path;
    const value = override.source === '' ? undefined : override.value;
    if (deeper.length > 0) {
      throw new UserError({
        file: `override ${text}`,
        message: 'the path has too many levels',
        value: override.path.join('.'),
      });
    }
    if (option === undefined) changed[key] = value;
    else changed[key] = { ...(isMapping(changed[key]) ? changed[key] : {}), [option]: value };
    return false;
  });
  return { theirs: changed, others };
}

/** Tasks that exist only in branches of LLM-RL-finetune, where other keys have other meanings. */
const branchTasks =
  /^(mountaincar_continuous|swimmer_continuous|halfcheetah_continuous|pendulum_(continuous|grid|llm)|mujoco_|nav_track_|pong_llm|panda_reach_|cliff_walking$|maze_\dx\d$|nim$|llm_num_optim_q_table$)/;

function refuseBranches(task: unknown): void {
  if (!branchTasks.test(String(task))) return;
  throw new UserError({
    field: 'task',
    value: task,
    message: "exists only in a branch of LLM-RL-finetune, whose configs can't be imported",
    remedy: 'write a similar policyloop config yourself, starting from a bundled one',
  });
}

/** The program that a config is for, recognised by its task, or by the keys that only one program has. */
function dialectOf(theirs: TheirConfig): Dialect {
  const task = given(theirs, 'task');
  if (runnerOf(task) !== undefined) return llmRlFinetune;
  refuseBranches(task);
  const own = (dialect: Dialect, other: Dialect) =>
    Object.keys(theirs).filter((key) => Object.hasOwn(dialect.keys, key) && !Object.hasOwn(other.keys, key))
      .length;
  return own(llmRlFinetune, props) > own(props, llmRlFinetune) ? llmRlFinetune : props;
}

function unknownKey(key: string, { name, keys }: Dialect): string {
  const suggestion = nearest(key, Object.keys(keys));
  return `unknown key of ${name}${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`;
}

/** The imported key whose target path shares the most leading keys with `path`; undefined if none shares any. */
export function originOf(notes: readonly ImportNote[], path: readonly PropertyKey[]): string | undefined {
  let origin: string | undefined;
  let most = 0;
  for (const note of notes) {
    if (note.kind === 'dropped') continue;
    for (const to of note.to) {
      const keys = to.split('.');
      const differ = keys.findIndex((key, i) => key !== String(path[i]));
      const shared = differ < 0 ? keys.length : differ;
      if (shared > most) [origin, most] = [note.key, shared];
    }
  }
  return origin;
}

/** Notes for the user, one per line; omits keys with the same meaning here. */
export function describeImport({ program, notes }: ImportedConfig, file: string): readonly string[] {
  const listed = notes.filter((note) => note.kind !== 'carried');
  const lines = listed.map((note) =>
    note.kind === 'changed'
      ? `${note.key}${note.to.length === 0 ? '' : ` → ${note.to.join(', ')}`}: ${note.reason}`
      : `${note.key}: not imported: ${note.reason}`,
  );
  return [`${file} was imported from ${program}:`, ...lines.map((line) => `  ${line}`)];
}

/**
 * The imported config as YAML. Comments give the original key of each field and, at the end, the dropped keys.
 */
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
  document.commentBefore = comment([`Imported from ${file}, a config for ${program}.`]);
  const left = notes.flatMap((note) => {
    if (note.kind === 'dropped') return [`${note.key}: ${note.reason}`];
    return note.kind === 'changed' && note.to.length === 0 ? [`${note.key}: ${note.reason}`] : [];
  });
  if (left.length > 0) document.comment = comment(['Not imported:', ...left]);
  return document.toString({ lineWidth: 0 });
}

/** Lines of a YAML comment. Replaces control characters, because a line break in an imported key would end it. */
const comment = (lines: readonly string[]): string =>
  lines.map((line) => ` ${line.replaceAll(/\p{C}/gu, '?')}`).join('\n');

/** Shows each reason only once, at the first field that it applies to. */
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
