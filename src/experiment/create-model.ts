import { relative } from 'node:path';
import type { ModelConfig } from '../config/config.js';
import { type Problem, UserError, unreachable } from '../errors.js';
import { createOllama } from '../models/hosted/ollama.js';
import { createOpenAI } from '../models/hosted/openai.js';
import { type Wait, waitOnClock } from '../models/hosted/retry.js';
import type { LanguageModel } from '../models/language-model.js';
import { createLocalModel } from '../models/local/process/local-model.js';
import { type LocalConfig, modelDirectory } from '../models/local/settings.js';
import { type Cassette, createReplayed } from '../models/replayed.js';
import { createCmaEs } from '../search/cma-es.js';
import { createHillClimb, createOnePlusOneEs, createRandomSearch } from '../search/local-search.js';
import { createMixture } from '../search/mixture.js';

/**
 * The model that a config names. `environment` holds the environment variables; `wait` is how the hosted models wait
 * before they try a failed call again; `cassette` is what a replayed run was answered.
 * @throws UserError when an API key is missing, an address is none, or a directory holds no model that can be run.
 */
export function createModel(
  config: ModelConfig,
  environment: Readonly<Record<string, string | undefined>>,
  wait: Wait = waitOnClock,
  cassette?: Cassette,
): LanguageModel {
  switch (config.provider) {
    case 'openai':
      return createOpenAI(config, environment, wait);
    case 'ollama':
      return createOllama(config, environment, wait);
    case 'local':
      return createLocal(config);
    case 'random':
      return createRandomSearch();
    case 'hill-climb':
      return createHillClimb(config);
    case 'cma-es':
      return createCmaEs(config);
    case 'one-plus-one-es':
      return createOnePlusOneEs(config);
    case 'mixture':
      return createMixture();
    case 'replayed':
      if (cassette === undefined) throw new Error('a recorded run is read before its model is made');
      return createReplayed(config, cassette);
    case 'module':
    case 'custom':
      throw new Error(`a model of the user's is made before: ${config.provider}`);
    default:
      return unreachable(config);
  }
}

/** What is wrong inside the model's directory is wrong with the field that names the directory. */
function createLocal(config: LocalConfig): LanguageModel {
  const path = modelDirectory(config.path);
  try {
    return createLocalModel({ ...config, path });
  } catch (error) {
    throw error instanceof UserError
      ? new UserError(error.problems.map((problem) => atPath(problem, path)))
      : error;
  }
}

function atPath({ file, field, value, message, ...rest }: Problem, directory: string): Problem {
  if (file === undefined)
    return { ...rest, field: field ?? 'model.path', value: value ?? directory, message };
  const inside = relative(directory, file);
  const place = [inside.startsWith('..') ? file : inside, field].filter((part) => part !== undefined);
  const given = value === undefined ? '' : ` (${JSON.stringify(value)})`;
  return {
    ...rest,
    field: 'model.path',
    value: directory,
    message: `${place.join(', ')}${given}: ${message}`,
  };
}
