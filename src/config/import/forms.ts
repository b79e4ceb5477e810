/** Grid search, networks, changes and beams of LLM-RL-finetune. */

import { UserError } from '../../base/errors.js';
import { carry, change, type Draft, drop, type Fields, given, isOn } from './draft.js';
import { isGiven, type KeyImport, sharedKeys, warmUp } from './keys.js';
import { projection } from './llm-rl-finetune.js';

export const taskOf = ({ theirs }: Draft): string => String(given(theirs, 'task'));
export const isGridSearch = (draft: Draft): boolean => taskOf(draft).includes('_grid_search');
export const isNetwork = (draft: Draft): boolean => taskOf(draft).includes('_mlp_');

/** Their grids start at -10 and go in steps of 1 (MountainCarContinuous) or 2 to the last value below 10. */
export function gridFields(draft: Draft): Fields {
  const isFine = taskOf(draft).startsWith('mountaincar');
  return {
    ...{ 'model.provider': 'grid', 'model.order': 'rows', 'model.points': isFine ? 20 : 10 },
    ...{ 'policy.low': -10, 'policy.high': isFine ? 9 : 8 },
  };
}

export const networkFields: Fields = {
  ...{ 'policy.kind': 'mlp', 'policy.hidden': [11], 'policy.activation': 'leaky-relu' },
};

/** Their networks project each of the two layers from this many numbers. */
export const rank: KeyImport = (draft, key, value, reading) => {
  if (!isNetwork(draft)) return projection(draft, key, value, reading);
  const reason = 'so many numbers make each of the two layers there; twice as many make both here';
  const both = typeof value === 'number' ? 2 * value : value;
  return change(draft, key, reason, { 'policy.projection.rank': both });
};

const widthOf = ({ theirs }: Draft) => given(theirs, 'beam_width') ?? 5;

export const isBeam = ({ theirs }: Draft) => isOn(given(theirs, 'beam'));

export const delta: KeyImport = (draft, key, value) => {
  if (!isOn(value)) return carry(draft, key);
  if (isBeam(draft)) return drop(draft, key, 'has no effect there beside beam: true');
  return carry(draft, key, { 'proposal.form': 'delta' });
};

export const beam: KeyImport = (draft, key, value) => {
  if (!isOn(value)) return carry(draft, key);
  const [width, each] = [widthOf(draft), given(draft.theirs, 'num_new_candidate') ?? 5];
  const candidates = typeof width === 'number' && typeof each === 'number' ? width * each : undefined;
  const reason = `${String(each)} proposals from each parent, all played over evaluation.episodes; the warm-up gives the first parents, there the untrained policy`;
  return change(draft, key, reason, { 'proposal.beam': width, candidates });
};

export const beamWidth: KeyImport = (draft, key, value) =>
  isBeam(draft) ? carry(draft, key, { 'proposal.beam': value }) : drop(draft, key, onlyWithBeam);

export const temperature: KeyImport = (draft, key, value) =>
  isBeam(draft) ? carry(draft, key, { 'model.temperature': value }) : drop(draft, key, onlyWithBeam);

export const firstPolicies: KeyImport = (draft, key, value, reading) => {
  const isNeeded = isBeam(draft) || isOn(given(draft.theirs, 'delta'));
  if (value !== 0 || !isNeeded) return warmUp(draft, key, value, reading);
  const reason = 'a random policy is the first parent, there the untrained one';
  return change(draft, key, reason, { 'warmup.policies': 1 });
};

export const onlyWithBeam = 'has a meaning with beam: true only';

/** The tasks of LLM-RL-finetune that show the steps of a good episode, to find parameters that act similarly. */

export const isImitation = (draft: Draft): boolean => /_imitation/.test(taskOf(draft));

const isSecondAgent = (draft: Draft): boolean => taskOf(draft).endsWith('_imitation_v5');

/** What a template shows in addition to the steps. */
interface Template {
  readonly returns: boolean;
  readonly range: boolean;
  /** The exploration step; `given` means `search_std`. */
  readonly step?: 'given' | 1;
  /** The return that it claims good parameters exceed. */
  readonly optimum?: number;
}

/** By the number at the end of a template's name; the first template has none. */
const templates: Readonly<Record<string, Template>> = {
  1: { returns: true, range: true, step: 'given', optimum: 50 },
  2: { returns: true, range: true, step: 'given', optimum: 50 },
  3: { returns: true, range: false },
  4: { returns: false, range: false },
  5: { returns: true, range: true, step: 1 },
  6: { returns: true, range: false },
};

const templateKey = 'llm_si_template_name';

const templateOf = ({ theirs }: Draft): Template | undefined => {
  const named = /_imitation(?:_(\d+))?\.j2$/.exec(String(given(theirs, templateKey)));
  return named === null ? undefined : templates[named[1] ?? '1'];
};

export function requireImitation(draft: Draft): void {
  if (templateOf(draft) === undefined) {
    throw new UserError({
      field: templateKey,
      value: given(draft.theirs, templateKey),
      message: 'what this template says of demonstrations is not known',
      alternatives: ['…_imitation.j2', '…_imitation_2.j2 to …_imitation_6.j2'],
      remedy: 'name one of theirs, or write a config of policyloop with a section demonstrations',
    });
  }
  if (isGiven(draft, 'demonstrations_dir')) return;
  throw new UserError({
    field: 'demonstrations_dir',
    message: 'is missing: this task shows the demonstrations that it holds',
    remedy: 'add demonstrations_dir, a folder with episode_1.json',
  });
}

export const showsReturns = (draft: Draft): boolean =>
  !isImitation(draft) || templateOf(draft)?.returns === true;

export const demonstrationsDirectory: KeyImport = (draft, key, value) => {
  if (!isImitation(draft)) return drop(draft, key, 'its task shows no demonstrations');
  const digits = isSecondAgent(draft) ? 5 : 3;
  const reason = `all steps of its episode_1.json with ${digits} digits, as there; a relative path is relative to the config here, to the working directory there`;
  return change(draft, key, reason, {
    'demonstrations.from': value,
    'demonstrations.episodes': 1,
    'demonstrations.steps': 'all',
    'demonstrations.digits': digits,
  });
};

/** The range stated by some templates; all of them are played in it. */
const range = { 'policy.low': -7, 'policy.high': 7 };

export const template: KeyImport = (draft, key, value, reading) => {
  if (!isImitation(draft)) return sharedKeys[templateKey]!(draft, key, value, reading);
  const { optimum, range: hasRange, returns } = templateOf(draft)!;
  const parts = [
    `Jinja templates become our ${reading.prompts} set, which shows demonstrations with what the policy is`,
    hasRange ? 'the range is the one that it tells' : 'it tells no range, and gets the −7 to 7 of the others',
    optimum !== undefined && `it says that good parameters pass ${optimum}; here that is about the best`,
    !returns && 'it shows no evaluation, so that the memory shows none',
    isSecondAgent(draft) &&
      'it tells errors to be lowered, 100 less the return; here returns are told, to be raised',
  ];
  const reason = parts.filter((part) => part !== false).join('; ');
  return change(draft, key, reason, {
    'prompts.set': reading.prompts,
    'prompts.optimum': optimum,
    ...range,
  });
};

/** The step stated to the model, given this value of `search_std`. */
export function stepInTemplate(draft: Draft, value: unknown): unknown {
  const step = isImitation(draft) ? templateOf(draft)?.step : 'given';
  return step === 'given' ? value : step;
}
