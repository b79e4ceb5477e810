import { relative } from 'node:path';
import { mapProblems, mapThrownProblems, type Problem, UserError } from '../base/errors.js';
import type { ModelConfig } from '../config/model.js';
import { withFieldPrefix } from '../config/model-checks.js';
import { createOllama } from '../models/hosted/ollama.js';
import { createOpenAI } from '../models/hosted/openai.js';
import { type Wait, waitOnClock } from '../models/hosted/retry.js';
import type { LanguageModel } from '../models/language-model.js';
import { createLocalModel } from '../models/local/process/local-model.js';
import { type LocalConfig, modelDirectory } from '../models/local/settings.js';
import { type Cassette, createReplayedModel } from '../models/replayed.js';
import { newUserModel } from '../models/user-model.js';

/**
 * Creates the language model that a config names; `newUserModel` opens those of user modules.
 * @param env environment variables, for keys and server addresses
 * @param wait how hosted models wait before they retry a failed call
 * @param cassette recorded replies for a replay
 * @throws UserError if the model can't be opened: no API key, an invalid address, an unusable directory, …
 */
export function createModel(
  config: ModelConfig,
  env: Readonly<Record<string, string | undefined>>,
  wait: Wait = waitOnClock,
  cassette?: Cassette,
): LanguageModel {
  switch (config.provider) {
    case 'openai':
      return createOpenAI(config, env, wait);
    case 'ollama':
      return createOllama(config, env, wait);
    case 'local':
      return createLocal(config);
    case 'replayed':
      return createReplayedModel(config, cassette!);
    case 'custom':
      throw customModelError(config.id);
    default:
      throw new Error(`${config.provider} isn't a language model`);
  }
}

/** Opens a model that a config names: a provider's, or a user's module. */
export const openLanguageModel = async (
  config: ModelConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<LanguageModel> => (config.provider === 'module' ? newUserModel(config) : createModel(config, env));

/** Reports a model's problems under the field of the model's own section. */
export const withMemberField = <T>(field: string, open: () => T | Promise<T>): Promise<T> =>
  mapThrownProblems(open, (problem) => withFieldPrefix(problem, field));

/** Creates the error for a run whose model was an object passed in by the calling program. */
function customModelError(id: string): UserError {
  return new UserError({
    field: 'model',
    message:
      "this model was an object passed in by the program that started the run, so it isn't available here",
    value: id,
    hint: 'call run(config, {model, directory}) in that program, or put the model in a module (model: {provider: ./my-model.js})',
  });
}

/** Creates a local model. Errors about its files name the field `model.path`. */
function createLocal(config: LocalConfig): LanguageModel {
  const path = modelDirectory(config.path);
  try {
    return createLocalModel(config);
  } catch (error) {
    throw mapProblems(error, (problem) => atPath(problem, path));
  }
}

function atPath({ file, field, value, message, ...rest }: Problem, path: string): Problem {
  if (file === undefined) return { ...rest, field: field ?? 'model.path', value: value ?? path, message };
  const innerPath = relative(path, file);
  const parts = [innerPath.startsWith('..') ? file : innerPath, field].filter((part) => part !== undefined);
  const suffix = value === undefined ? '' : ` (${JSON.stringify(value)})`;
  return { ...rest, field: 'model.path', value: path, message: `${parts.join(', ')}${suffix}: ${message}` };
}
