/** An offline check runs no modules and starts no programs that a config names; it reports what it couldn't check. */
import { append } from '../base/append.js';
import { type Problem, UserError } from '../base/errors.js';
import type { Config } from '../config/config.js';
import { languageModelOf } from '../config/model.js';
import { isRemoteId } from '../environments/catalogue/open.js';
import { openModel } from '../experiment/open-models.js';
import { languageModelIn } from '../experiment/proposer.js';
import type { LanguageModel } from '../models/language-model.js';
import { isModulePath } from '../modules/user-module.js';
import { openTask } from '../rollout/task.js';
import { type Finding, warning } from './findings.js';

export interface LeftOut {
  readonly field: string;
  readonly value: string;
  /** What can't be checked without this code. */
  readonly unknown: string;
  /** True if other parts, such as the prompts, need this code. */
  readonly needed: boolean;
}

/** Lists the environment if it is a module or runs in another program. */
export function environmentLeftOut({ environment: { id } }: Config): readonly LeftOut[] {
  if (!isRemoteId(id) && !isModulePath(id)) return [];
  const unknown = 'the environment, its options, the policy and the prompts';
  return [{ field: 'environment', value: id, unknown, needed: true }];
}

/** Lists the modules named in the config, except the environment. */
export function modulesLeftOut({ critic, policy, evaluation, model, prompts }: Config): readonly LeftOut[] {
  const reader = languageModelOf(model);
  const modules = [
    {
      field: 'policy',
      value: policy?.kind === 'module' && policy.path,
      unknown: 'the policy and the prompts',
      needed: true,
    },
    { field: 'prompts.helpers', value: prompts.helpers, unknown: 'the prompts', needed: true },
    { field: 'evaluation.reward', value: evaluation.reward, unknown: 'the reward function', needed: false },
    {
      field: 'critic.model',
      value: critic?.model?.provider === 'module' && critic.model.path,
      unknown: "the critic's model",
      needed: false,
    },
    {
      field: 'model',
      value: reader?.provider === 'module' && reader.path,
      unknown: 'the model',
      needed: false,
    },
  ];
  return modules.flatMap(({ value, ...part }) => (typeof value === 'string' ? [{ ...part, value }] : []));
}

/** Placeholders for modules that aren't imported and that no other part needs. */
export function standIns({ critic, model }: Config): {
  readonly model?: LanguageModel;
  readonly critic?: LanguageModel;
  readonly withoutReward: true;
} {
  const generate = () => Promise.reject(new Error('this model was not loaded'));
  const standIn = (of: ReturnType<typeof languageModelOf>): LanguageModel | undefined =>
    of?.provider === 'module' ? { id: `module/${of.path}`, generate } : undefined;
  const reader = standIn(languageModelOf(model));
  const own = standIn(critic?.model && languageModelOf(critic.model));
  return {
    ...(reader && { model: reader }),
    ...(own && { critic: own }),
    withoutReward: true,
  };
}

export function notChecked({ field, value, unknown }: LeftOut): Finding {
  const what =
    field === 'environment' && isRemoteId(value) ? 'no program is started' : 'no module is imported';
  return warning({
    field,
    value,
    message: `${what} offline, so ${unknown} can't be checked`,
    remedy: 'if you trust this code, run the check without --offline',
  });
}

/**
 * Opens and closes the model and, if requested, the environment, to find problems. Doesn't import a model's module.
 * @throws UserError with the problems of all parts
 */
export async function openParts(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  withEnvironment: boolean,
): Promise<void> {
  const parts = [
    async () => languageModelIn((await openModel(config, env, standIns(config).model)).model)?.close?.(),
    ...(withEnvironment ? [async () => (await openTask(config.environment, undefined, env)).close?.()] : []),
  ];
  const problems: Problem[] = [];
  for (const open of parts) {
    try {
      await open();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      append(problems, error.problems);
    }
  }
  if (problems.length > 0) throw new UserError(problems);
}
