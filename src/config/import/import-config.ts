/** Converts configs of ProPS (Prompted Policy Search) and of LLM-RL-finetune to ours. */

import { Document } from 'yaml';
import { closestMatch, UserError } from '../../base/errors.js';
import { isMapping } from '../../base/settings/schema.js';
import { carry, drop, type ForeignConfig, type ImportDraft, type ImportNote, keyValue } from './draft.js';
import { importFinetune, llmRlFinetuneKeys, runnerOf } from './llm-rl-finetune.js';
import { importProps, propsKeys } from './props.js';

export interface ImportedConfig {
  readonly program: string;
  /** The equivalent config in our format, unchecked and without defaults. */
  readonly config: Record<string, unknown>;
  /** At least one note per key of the imported config. */
  readonly notes: readonly ImportNote[];
}

/** Recognises a config of either program by its `gym_env_name`. */
export function isForeignConfig(content: unknown): content is ForeignConfig {
  return isMapping(content) && Object.hasOwn(content, 'gym_env_name');
}

/**
 * Translates the keys of the other program's config to ours. Pure: reads no files and creates no environment.
 * @throws UserError, whose `field` is a key of that config, for values that can't be imported
 */
export function importConfig(foreign: ForeignConfig): ImportedConfig {
  const isFinetune = isForFinetune(foreign);
  const draft: ImportDraft = { foreign, config: {}, notes: [] };
  (isFinetune ? importFinetune : importProps)(draft);
  const knownKeys: readonly string[] = isFinetune ? llmRlFinetuneKeys : propsKeys;
  const notedKeys = new Set(draft.notes.map(({ key }) => key.split('.')[0]));
  for (const key of Object.keys(foreign)) {
    if (notedKeys.has(key)) continue;
    if (knownKeys.includes(key) && keyValue(foreign, key) === undefined) carry(draft, key);
    else {
      const near = closestMatch(key, knownKeys);
      const unknownText = `unknown key${near === undefined ? '' : `; did you mean ${near}?`}`;
      drop(draft, key, knownKeys.includes(key) ? 'has no equivalent here' : unknownText);
    }
  }
  return { program: isFinetune ? 'LLM-RL-finetune' : 'ProPS', config: draft.config, notes: draft.notes };
}

/** Tasks that exist only in branches of LLM-RL-finetune, where other keys have other meanings. */
const branchTasks =
  /^(mountaincar_continuous|swimmer_continuous|halfcheetah_continuous|pendulum_(continuous|grid|llm)|mujoco_|nav_track_|pong_llm|panda_reach_|cliff_walking$|maze_\dx\d$|nim$|llm_num_optim_q_table$)/;

/** Recognises the program by the task, or by the keys that only one program has. */
function isForFinetune(foreign: ForeignConfig): boolean {
  const task = keyValue(foreign, 'task');
  if (runnerOf(task) !== undefined) return true;
  if (branchTasks.test(String(task)))
    throw new UserError({
      field: 'task',
      value: task,
      message: "exists only in a branch of LLM-RL-finetune, whose configs can't be imported",
      hint: 'write a similar policyloop config yourself, starting from a bundled one',
    });
  const ownKeyCount = (keys: readonly string[], others: readonly string[]) =>
    Object.keys(foreign).filter((key) => keys.includes(key) && !others.includes(key)).length;
  return ownKeyCount(llmRlFinetuneKeys, propsKeys) > ownKeyCount(propsKeys, llmRlFinetuneKeys);
}

/** The imported key whose target path shares the most leading keys with `path`; undefined if none shares any. */
export function originOf(notes: readonly ImportNote[], path: readonly PropertyKey[]): string | undefined {
  let origin: string | undefined;
  let mostShared = 0;
  for (const note of notes) {
    if (note.kind === 'dropped') continue;
    for (const to of note.to) {
      const keys = to.split('.');
      const differIndex = keys.findIndex((key, i) => key !== String(path[i]));
      const sharedCount = differIndex < 0 ? keys.length : differIndex;
      if (sharedCount > mostShared) [origin, mostShared] = [note.key, sharedCount];
    }
  }
  return origin;
}

/** A heading, then notes for the user, one per line; omits keys with the same meaning here. */
export function describeImport({ program, notes }: ImportedConfig, file: string): readonly string[] {
  const shownNotes = notes.filter((note) => note.kind !== 'carried');
  const lines = shownNotes.map((note) =>
    note.kind === 'changed'
      ? `  ${note.key}${note.to.length === 0 ? '' : ` → ${note.to.join(', ')}`}: ${note.reason}`
      : `  ${note.key}: not imported: ${note.reason}`,
  );
  return [`${file} was imported from ${program}${lines.length === 0 ? '' : ':'}`, ...lines];
}

/** The imported config as YAML, with the notes in a comment at the top. */
export function importedYaml(imported: ImportedConfig, file: string): string {
  const document = new Document(imported.config, { aliasDuplicateObjects: false });
  // Replaces control characters, because a line break in an imported key would end the comment.
  document.commentBefore = describeImport(imported, file)
    .map((line) => ` ${line.replaceAll(/\p{C}/gu, '?')}`)
    .join('\n');
  return document.toString({ lineWidth: 0 });
}
