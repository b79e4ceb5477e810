/**
 * What a client of the MCP server may name. A text that the client read may have told it what to ask, so paths stay
 * below the working directory, and no argument names a program, a server or a secret; config files do.
 */
import { z } from 'zod';
import { isBaseline } from '../search/baselines.js';

/** A leading hyphen would make it an option of the program that receives it. */
const isConfined = (path: string) =>
  !/^[-/\\~]|^[A-Za-z]:|\p{C}/u.test(path) && !path.split(/[/\\]/).includes('..');

const path = z
  .string()
  .min(1)
  .max(500)
  .refine(isConfined, 'must be a path below the working directory, without .. or a leading hyphen');

export const confinedRun = path;

/** A file, or the name of a bundled config. */
export const confinedConfig = path.refine(
  (text) => !/^[A-Za-z][\w.-]*=/.test(text),
  'is an override, not a config',
);

/** A built-in environment or a synthetic task; starts no other program and imports no module. */
export const confinedId = z
  .string()
  .max(200)
  .regex(/^(?!(?:gymnasium|openenv|textworld):)[\w-]+(?::[\w-]+(?:\?[\w=&.,-]*)?)?$/, 'must be built in');

/** Sections, and single keys, that set budgets and searches. */
const sections = /^(?:limits|warmup\.policies|confirmation|memory)(?:\.\w+)*$/;
const keys = new Set(
  [
    'name seed repeats iterations candidates corrections target warmup record',
    'evaluation.episodes evaluation.maxSteps evaluation.racing evaluation.workers',
    'model.provider model.temperature model.topP model.maxTokens model.sigma prompts.set',
  ].flatMap((line) => line.split(' ')),
);

function isPlain(text: string): boolean {
  const [, key, value] = /^([A-Za-z][\w.]*)=([\w.+-]*)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) return false;
  if (key === 'model.provider') return isBaseline(value);
  return keys.has(key) || sections.test(key);
}

/** `key=value`: a number or a word for a key of the budget or the search. */
export const plainOverride = z
  .string()
  .max(200)
  .refine(
    isPlain,
    'can only set budgets, seeds and searches to a number or a word, and model.provider to a baseline',
  );
