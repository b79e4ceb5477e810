/**
 * What a client of the MCP server may name: it may be told what to say by a text that it read. Paths stay below the
 * working directory, and no argument names a program, a server or a secret; those are the business of config files.
 */
import { z } from 'zod';
import { isBaseline } from '../search/baselines.js';

/** What begins with a hyphen would be an option to a program that is given it. */
const isConfined = (path: string) =>
  !/^[-/\\~]|^[A-Za-z]:|\p{C}/u.test(path) && !path.split(/[/\\]/).includes('..');

const path = z
  .string()
  .min(1)
  .max(500)
  .refine(isConfined, 'has to lie below the working directory, without .., and may not begin with a hyphen');

/** By name, or by a path below the working directory. */
export const confinedRun = path;

/** A file, or the name of a ready config. */
export const confinedConfig = path.refine(
  (text) => !/^[A-Za-z][\w.-]*=/.test(text),
  'is an override, no config',
);

/** Names a built-in environment or a synthetic task: no other program is started, and no module imported. */
export const confinedId = z
  .string()
  .max(200)
  .regex(/^(?!(?:gymnasium|openenv|textworld):)[\w-]+(?::[\w-]+(?:\?[\w=&.,-]*)?)?$/, 'has to be built in');

/** Sections that say how much and how is searched, and single keys. */
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
    'may only set budgets, seeds and searches to a number or a word, model.provider to a control',
  );
