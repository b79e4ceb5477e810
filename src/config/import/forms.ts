/** Imports the settings of LLM-RL-finetune for networks, deltas, beams and imitation. */

import { UserError } from '../../base/errors.js';
import { carry, change, type Draft, drop, type Fields, given, isOn } from './draft.js';
import { isGiven, type KeyImport, sharedKeys, warmUp } from './keys.js';
import { projection } from './llm-rl-finetune.js';

export const taskOf = ({ theirs }: Draft): string => String(given(theirs, 'task'));
export const isNetwork = (draft: Draft): boolean => taskOf(draft).includes('_mlp_');

export const networkFields: Fields = {
  ...{ 'policy.kind': 'mlp', 'policy.hidden': [11], 'policy.activation': 'leaky-relu' },
};

export const rank: KeyImport = (draft, key, value, reading) => {
  if (!isNetwork(draft)) return projection(draft, key, value, reading);
  const reason =
    'in the original, each of the two layers is projected from this many numbers; here, both are projected together from twice as many';
  const both = typeof value === 'number' ? 2 * value : value;
  return change(draft, key, reason, { 'policy.projection.rank': both });
};

const widthOf = ({ theirs }: Draft) => given(theirs, 'beam_width') ?? 5;

export const isBeam = ({ theirs }: Draft) => isOn(given(theirs, 'beam'));

export const delta: KeyImport = (draft, key, value) => {
  if (!isOn(value)) return carry(draft, key);
  if (isBeam(draft)) return drop(draft, key, 'has no effect in the original with beam: true');
  return carry(draft, key, { 'proposal.form': 'delta' });
};

export const beam: KeyImport = (draft, key, value) => {
  if (!isOn(value)) return carry(draft, key);
  const [width, each] = [widthOf(draft), given(draft.theirs, 'num_new_candidate') ?? 5];
  const candidates = typeof width === 'number' && typeof each === 'number' ? width * each : undefined;
  const reason = `${String(each)} proposals per parent, each evaluated on evaluation.episodes episodes; the first parents come from the warm-up (in the original, the untrained policy)`;
  return change(draft, key, reason, { 'proposal.beam': width, candidates });
};

export const beamWidth: KeyImport = (draft, key, value) =>
  isBeam(draft) ? carry(draft, key, { 'proposal.beam': value }) : drop(draft, key, onlyWithBeam);

export const temperature: KeyImport = (draft, key, value) =>
  isBeam(draft) ? carry(draft, key, { 'model.temperature': value }) : drop(draft, key, onlyWithBeam);

export const firstPolicies: KeyImport = (draft, key, value, reading) => {
  const isNeeded = isBeam(draft) || isOn(given(draft.theirs, 'delta'));
  if (value !== 0 || !isNeeded) return warmUp(draft, key, value, reading);
  const reason = 'the first parent is a random policy (in the original, the untrained one)';
  return change(draft, key, reason, { 'warmup.policies': 1 });
};

export const onlyWithBeam = 'only applies with beam: true';

/** Tasks of LLM-RL-finetune that show the steps of a good episode and ask for parameters that act similarly. */
export const isImitation = (draft: Draft): boolean => /_imitation/.test(taskOf(draft));

const isSecondAgent = (draft: Draft): boolean => taskOf(draft).endsWith('_imitation_v5');

/** What a template shows or states in addition to the steps. */
interface Template {
  readonly returns: boolean;
  readonly range: boolean;
  /** The exploration step; `given` means `search_std`. */
  readonly step?: 'given' | 1;
  /** The return that good parameters exceed, according to the template. */
  readonly optimum?: number;
}

/** Keyed by the number at the end of a template's name; the first template has none. */
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
      message: 'unknown template for demonstrations',
      alternatives: ['…_imitation.j2', '…_imitation_2.j2 to …_imitation_6.j2'],
      remedy: 'use one of these, or write a policyloop config with a demonstrations section',
    });
  }
  if (isGiven(draft, 'demonstrations_dir')) return;
  throw new UserError({
    field: 'demonstrations_dir',
    message: 'is missing, but this task shows the demonstrations in that folder',
    remedy: 'set demonstrations_dir to a folder with episode_1.json',
  });
}

export const showsReturns = (draft: Draft): boolean =>
  !isImitation(draft) || templateOf(draft)?.returns === true;

export const demonstrationsDirectory: KeyImport = (draft, key, value) => {
  if (!isImitation(draft)) return drop(draft, key, 'this task shows no demonstrations');
  const digits = isSecondAgent(draft) ? 5 : 3;
  const reason = `all steps of episode_1.json in this folder, with ${digits} digits, as in the original; relative paths are resolved from the config file, not from the working directory`;
  return change(draft, key, reason, {
    'demonstrations.from': value,
    'demonstrations.episodes': 1,
    'demonstrations.steps': 'all',
    'demonstrations.digits': digits,
  });
};

/** Some templates state this range; it is used for all of them. */
const range = { 'policy.low': -7, 'policy.high': 7 };

export const template: KeyImport = (draft, key, value, reading) => {
  if (!isImitation(draft)) return sharedKeys[templateKey]!(draft, key, value, reading);
  const { optimum, range: hasRange, returns } = templateOf(draft)!;
  const parts = [
    `our ${reading.prompts} prompt set replaces the Jinja templates; it shows the demonstrations and describes the policy`,
    hasRange ? 'the template states this range' : 'the template states no range, so −7 to 7 is used',
    optimum !== undefined &&
      `the template says that good parameters exceed ${optimum}; our prompts state this as the optimum`,
    !returns && 'the template shows no evaluations, and neither do our prompts',
    isSecondAgent(draft) &&
      'the template shows errors to minimise (100 − return); our prompts show returns to maximise',
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
