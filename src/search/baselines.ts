/** Search algorithms: baselines to compare a language model with. */
import type { z } from 'zod';
import { UserError } from '../base/errors.js';
import type { Baseline } from './baseline.js';
import { createCmaEs } from './cma-es.js';
import { createGp } from './gp.js';
import { createHillClimb, createMix, createRandomSearch } from './local-search.js';
import { createGenetic } from './programs.js';
import {
  cmaEsSchema,
  geneticSchema,
  gpSchema,
  hillClimbSchema,
  mixSchema,
  randomSchema,
} from './settings.js';

interface BaselineRecord {
  /** The value of `model.provider`. */
  readonly name: string;
  readonly label: string;
  /** The `model` section of a config. */
  readonly schema: z.ZodType;
  create(config: { readonly provider: string }): Baseline;
}

export type BaselineName = 'random' | 'hill-climb' | 'cma-es' | 'mix' | 'gp' | 'genetic';

export const baselines = [
  { name: 'random', label: 'random search', schema: randomSchema, create: createRandomSearch },
  { name: 'hill-climb', label: 'hill climbing', schema: hillClimbSchema, create: createHillClimb },
  { name: 'cma-es', label: 'CMA-ES', schema: cmaEsSchema, create: createCmaEs },
  { name: 'mix', label: 'corners and steps', schema: mixSchema, create: createMix },
  { name: 'gp', label: 'Gaussian process', schema: gpSchema, create: createGp },
  { name: 'genetic', label: 'genetic programming', schema: geneticSchema, create: createGenetic },
] as const satisfies readonly (BaselineRecord & { readonly name: BaselineName })[];

export const baselineNames: readonly BaselineName[] = baselines.map(({ name }) => name);

export const findBaseline = (provider: string): BaselineRecord | undefined =>
  baselines.find(({ name }) => name === provider);

export const isBaseline = (name: string): name is BaselineName => baselines.some((one) => one.name === name);

/** @throws UserError if the baseline is unknown */
export function requireBaseline(field: string, name: string): BaselineName {
  if (isBaseline(name)) return name;
  throw new UserError({
    field,
    message: 'unknown baseline',
    value: name,
    alternatives: [...baselineNames],
  });
}

/** The arm of a study that runs a baseline with its default settings. */
export const baselineArm = <Name extends BaselineName>(name: Name) => ({
  name,
  label: findBaseline(name)!.label,
  provider: name,
  overrides: [`model.provider=${name}`],
});
