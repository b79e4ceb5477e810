/** The tasks of LLM-RL-finetune that show the steps of a good episode, to find parameters that act similarly. */
import { UserError } from '../../base/errors.js';
import { change, type Draft, drop, given } from './draft.js';
import { taskOf } from './forms.js';
import { isGiven, type KeyImport, sharedKeys } from './keys.js';

export const isImitation = (draft: Draft): boolean => /_imitation/.test(taskOf(draft));

/** Their second agent, whatever its template. */
const isSecondAgent = (draft: Draft): boolean => taskOf(draft).endsWith('_imitation_v5');

/** What a template shows in addition to the steps. */
interface Template {
  /** Whether it shows evaluations. */
  readonly returns: boolean;
  /** Whether it states the range of the parameters. */
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

/** @throws UserError for an unknown template or one that wouldn't show any steps */
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

/** Whether prompts show evaluations. */
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
export function toldStep(draft: Draft, value: unknown): unknown {
  const step = isImitation(draft) ? templateOf(draft)?.step : 'given';
  return step === 'given' ? value : step;
}
