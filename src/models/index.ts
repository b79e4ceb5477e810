import type { ModelConfig } from '../config.js';
import { unreachable } from '../errors.js';
import type { LanguageModel } from './language-model.js';
import { createOllama } from './ollama.js';
import { createOpenAI } from './openai.js';
import { type Wait, waitOnClock } from './retry.js';
import { createCmaEs } from './search/cma-es.js';
import { createHillClimb } from './search/hill-climb.js';
import { createRandomSearch } from './search/random.js';

/**
 * The model that a config names. `environment` holds the environment variables; `wait` is how the hosted models wait
 * before they try a failed call again.
 * @throws UserError when an API key is missing, or an address is none.
 */
export function createModel(
  config: ModelConfig,
  environment: Readonly<Record<string, string | undefined>>,
  wait: Wait = waitOnClock,
): LanguageModel {
  switch (config.provider) {
    case 'openai':
      return createOpenAI(config, environment, wait);
    case 'ollama':
      return createOllama(config, environment, wait);
    case 'random':
      return createRandomSearch();
    case 'hill-climb':
      return createHillClimb(config);
    case 'cma-es':
      return createCmaEs(config);
    default:
      return unreachable(config);
  }
}
