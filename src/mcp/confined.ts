/**
 * Arguments that an MCP client may pass. Clients may have read malicious instructions, so paths stay below the
 * working directory, and programs, servers and secrets can only be set in config files.
 */
import { z } from 'zod';
import { isBaselineName } from '../config/baselines.js';

/** True for a path below the working directory. One with a leading hyphen would be read as an option. */
const isConfined = (path: string) =>
  !/^[-/\\~]|^[A-Za-z]:|\p{C}/u.test(path) && !path.split(/[/\\]/).includes('..');

const pathSchema = z
  .string()
  .min(1)
  .max(500)
  .refine(isConfined, 'must be a path below the working directory, without .. or a leading hyphen');

export const confinedRun = pathSchema;

/** A config file below the working directory, or the name of a bundled config. */
export const confinedConfig = pathSchema.refine(
  (text) => !/^[A-Za-z][\w.-]*=/.test(text),
  'must be a config, not an override',
);

/** A built-in environment or text world, which starts no other program and imports no module. */
export const confinedEnvironment = z
  .string()
  .max(200)
  .regex(/^(?:text:)?[\w-]+$/, 'must be a built-in environment');

/** Config sections for budgets and the search, in which every key may be set; `permittedKeys` lists single keys. */
const sectionPattern = /^(?:limits|warmup\.policies|confirmation|memory)(?:\.\w+)*$/;
const permittedKeys = new Set(
  [
    'name seed iterations candidates corrections repeats target warmup record',
    'evaluation.episodes evaluation.maxSteps evaluation.workers',
    'model.provider model.temperature model.topP model.maxTokens model.sigma prompts.set',
  ].flatMap((line) => line.split(' ')),
);

function isPermitted(text: string): boolean {
  const [, key, value] = /^([A-Za-z][\w.]*)=([\w.+-]*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) return false;
  if (key === 'model.provider') return isBaselineName(value);
  return permittedKeys.has(key) || sectionPattern.test(key);
}

/** `key=value` that sets a permitted key to a number or a word, or clears it (`key=`). */
export const plainOverride = z
  .string()
  .max(200)
  .refine(
    isPermitted,
    'can only set a budget, seed, search or sampling setting to a number or a word, or model.provider to a baseline',
  );
