/** An imported config is built before it is written: what it says has to be playable, whatever model will answer. */
import { existsSync } from 'node:fs';
import { formatProblem, UserError } from '../base/errors.js';
import type { LoadedConfig } from '../config/load.js';
import { isBuiltInId } from '../environments/catalogue/open.js';
import { assemble, closeEnvironment } from '../experiment/assemble.js';
import { Prompter } from '../experiment/prompter.js';
import { createReplayBuffer } from '../rollout/replay-buffer.js';
import { nothingRecorded } from '../runs/reader.js';
import { errorsIn, warningsIn } from './findings.js';
import { preflight } from './preflight.js';
import { forecastPrompts } from './prompt-forecast.js';

/**
 * Makes the environment, the policy and the first prompt of a config; its model is neither needed nor asked, and
 * demonstrations may come later.
 * @returns notes: what was built, and what may be wrong with it
 * @throws UserError where it can't be built, at the keys that it was imported from
 */
export async function buildImport(
  loaded: LoadedConfig,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> {
  const { demonstrations, ...rest } = loaded.config;
  const isThere = demonstrations === undefined || existsSync(demonstrations.from);
  const config = isThere ? loaded.config : rest;
  const { id } = config.environment;
  if (!isBuiltInId(id)) return [`not built: another program plays ${id}; policyloop check builds it, too`];
  try {
    const made = await assemble({ ...config, model: { provider: 'random' } }, env);
    const assembly = { ...made, config: { ...made.config, model: config.model } };
    try {
      new Prompter({ ...assembly, buffer: createReplayBuffer(), recorded: nothingRecorded }).messages(1);
      const findings = preflight(assembly);
      const errors = errorsIn(findings);
      if (errors.length > 0) throw new UserError(errors);
      const { evaluation } = config;
      const steps = Math.min(made.environment.maxSteps ?? evaluation.maxSteps, evaluation.maxSteps);
      const { longest } = forecastPrompts(assembly);
      return [
        `built: ${made.environment.id}, ${made.family.parameters.count} parameters, episodes of at most ${steps} steps, prompts of up to about ${longest.tokens.most} tokens`,
        ...(isThere ? [] : [`not built: the demonstrations, for there is no ${demonstrations.from} yet`]),
        ...warningsIn(findings).map((warning) => `warning ${formatProblem(warning)}`),
      ];
    } finally {
      await closeEnvironment(made);
    }
  } catch (error) {
    throw error instanceof UserError ? loaded.locate(error) : error;
  }
}
