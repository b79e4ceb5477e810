/** Baselines for a language model: searches that see only parameters and returns. */
import type { z } from 'zod';
import { UserError } from '../base/errors.js';
import { createCmaEs } from './cma-es.js';
import type { Control } from './control.js';
import { createGp } from './gp.js';
import { createGridSearch } from './grid-search.js';
import { createHillClimb, createMix, createOnePlusOneEs, createRandomSearch } from './local-search.js';
import {
  cmaEsSchema,
  gpSchema,
  gridSchema,
  hillClimbSchema,
  mixSchema,
  mixtureSchema,
  onePlusOneEsSchema,
  randomSchema,
  teacherSchema,
} from './settings.js';
import { createTeacher } from './teacher.js';

interface ControlRecord {
  /** The value of `model.provider`. */
  readonly name: string;
  readonly label: string;
  /** The `model` section of a config. */
  readonly schema: z.ZodType;
  create(config: { readonly provider: string }): Control;
}

export type ControlName = 'random' | 'hill-climb' | 'cma-es' | 'one-plus-one-es' | 'mix' | 'gp' | 'grid';

export const controls = [
  { name: 'random', label: 'random search', schema: randomSchema, create: createRandomSearch },
  { name: 'hill-climb', label: 'hill climbing', schema: hillClimbSchema, create: createHillClimb },
  { name: 'cma-es', label: 'CMA-ES', schema: cmaEsSchema, create: createCmaEs },
  { name: 'one-plus-one-es', label: '(1+1)-ES', schema: onePlusOneEsSchema, create: createOnePlusOneEs },
  { name: 'mix', label: 'corners and steps', schema: mixSchema, create: createMix },
  { name: 'gp', label: 'Gaussian process', schema: gpSchema, create: createGp },
  { name: 'grid', label: 'grid search', schema: gridSchema, create: createGridSearch },
] as const satisfies readonly (ControlRecord & { readonly name: ControlName })[];

/** Searches whose proposals serve as training data, not for comparison. `mixture` is the former name of `teacher`. */
export const teachers = [
  { name: 'teacher', label: 'teacher', schema: teacherSchema, create: createTeacher },
  { name: 'mixture', label: 'teacher', schema: mixtureSchema, create: createTeacher },
] as const satisfies readonly ControlRecord[];

export const controlNames: readonly ControlName[] = controls.map(({ name }) => name);

/** Finds a baseline or a teacher. */
export const findControl = (provider: string): ControlRecord | undefined =>
  [...controls, ...teachers].find(({ name }) => name === provider);

export const isControl = (name: string): name is ControlName => controls.some((one) => one.name === name);

/** @throws UserError if there is no such baseline */
export function requireControl(field: string, name: string): ControlName {
  if (isControl(name)) return name;
  throw new UserError({
    field,
    message: 'there is no such baseline',
    value: name,
    alternatives: [...controlNames],
  });
}

/** The study arm for a baseline with its default settings. */
export const controlArm = <Name extends ControlName>(name: Name) => ({
  name,
  label: findControl(name)!.label,
  provider: name,
  overrides: [`model.provider=${name}`],
});
