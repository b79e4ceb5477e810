/** Keys common to both programs, and building blocks for their key tables. */
import { plainName } from '../../storage/files.js';
import { carry, change, type Draft, drop, type Fields, given, isOn } from './draft.js';
import { type EnvironmentChoice, importEnvironment, importSlippery, noWindow } from './environment.js';
import type { ModelChoice } from './model.js';

/** Properties of the whole config that determine how individual keys are read. */
export interface Reading {
  readonly environment: EnvironmentChoice;
  readonly policy: 'linear' | 'q-table';
  readonly prompts: 'numeric' | 'semantic';
  readonly model: ModelChoice | undefined;
}

/** Imports one key that has a value, and notes how. */
export type KeyImport = (draft: Draft, key: string, value: unknown, reading: Reading) => void;

export interface Dialect {
  readonly name: string;
  /** Every key that the program documents. */
  readonly keys: Readonly<Record<string, KeyImport>>;
  /**
   * @param draft receives the fields that don't depend on individual keys
   * @throws UserError for a config without an equivalent here
   */
  readonly read: (draft: Draft) => Reading;
}

export const carried =
  (path: string): KeyImport =>
  (draft, key, value) =>
    carry(draft, key, { [path]: value });

export const dropped =
  (reason: string): KeyImport =>
  (draft, key) =>
    drop(draft, key, reason);

/** Drops a key that is on; a key that is off matches our behaviour anyway. */
export const droppedIfOn =
  (reason: string): KeyImport =>
  (draft, key, value) =>
    isOn(value) ? drop(draft, key, reason) : carry(draft, key);

/** Misspelt template names that occur in configs, with the correct names. */
const missingTemplates: Readonly<Record<string, string>> = {
  'num_optim_semantics.j2': 'num_optim_semantic.j2',
};

const template: KeyImport = (draft, key, value, { prompts }) => {
  const name = String(value);
  const suggestion = Object.hasOwn(missingTemplates, name) ? missingTemplates[name] : undefined;
  const missing = suggestion === undefined ? '' : `${name} does not exist, so ${suggestion} is assumed; `;
  change(draft, key, `${missing}our ${prompts} prompt set replaces the Jinja templates`, {
    'prompts.set': prompts,
  });
};

const logDirectory: KeyImport = (draft, key, value) => {
  const last =
    String(value)
      .split(/[\\/]/)
      .findLast((part) => part !== '') ?? '';
  const name = plainName(last, '');
  const where = 'policyloop writes runs to --runs-dir, or to --run-dir';
  if (name === '') drop(draft, key, where);
  else change(draft, key, `${where}; the last part of this path becomes the name`, { name });
};

const model: KeyImport = (draft, key, _value, { model: choice }) => {
  if (choice === undefined) return;
  const fields = Object.fromEntries(
    Object.entries(choice.fields).map(([field, value]) => [`model.${field}`, value]),
  );
  if (choice.reason === undefined) carry(draft, key, fields);
  else change(draft, key, choice.reason, fields);
};

export const sharedKeys: Readonly<Record<string, KeyImport>> = {
  gym_env_name: (draft, key, _value, { environment }) => importEnvironment(draft, key, environment),
  num_episodes: carried('iterations'),
  num_evaluation_episodes: carried('evaluation.episodes'),
  is_slippery: (draft, key, value, { environment }) => importSlippery(draft, key, value, environment.id),
  render_mode: dropped(noWindow),
  logdir: logDirectory,
  llm_model_name: model,
  template_dir: dropped('Jinja templates are not read; set prompts.set to a built-in set or your own folder'),
  llm_si_template_name: template,
  llm_output_conversion_template_name: dropped(
    'the prompt set has its own correction message, sent up to `corrections` times',
  ),
  env_desc_file: (draft, key, _value, { prompts, environment }) =>
    drop(
      draft,
      key,
      prompts === 'semantic'
        ? `the semantic set has its own description of ${environment.id}; for another, set prompts.description to your template`
        : "the numeric set doesn't describe the environment; prompts.set: semantic does",
    ),
};

export const warmUp: KeyImport = (draft, key, value) => {
  if (value === 0) carry(draft, key, { 'warmup.policies': 0 });
  else {
    change(draft, key, 'each of these policies is evaluated on as many episodes as a candidate', {
      'warmup.policies': value,
    });
  }
};

/** A token budget that no history reaches, because their prompts show the whole buffer. */
export const wholeHistory: Fields = { 'memory.tokens': 10_000_000 };

/** The prompt set that a template's name suggests, if any; `semantic` takes precedence over `numeric`. */
export function promptsOf(template: unknown): 'numeric' | 'semantic' | undefined {
  const name = String(template ?? '');
  if (/semantic/i.test(name)) return 'semantic';
  return /numeric|num_optim/i.test(name) ? 'numeric' : undefined;
}

export const isGiven = ({ theirs }: Draft, key: string): boolean => given(theirs, key) !== undefined;
