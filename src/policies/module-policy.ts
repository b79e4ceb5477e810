/** Policies created by a user's module. */
import { basename } from 'node:path';
import { inspect } from 'node:util';
import { z } from 'zod';
import { messageOf, UserError } from '../base/errors.js';
import { errorLocation, loadModule } from '../base/modules/user-module.js';
import type { RandomGenerator } from '../base/random/generator.js';
import type { Action, EnvironmentSpec, Observation } from '../environments/environment.js';
import { isValidAction } from '../environments/limited-environment.js';
import { uniformVector } from './linear.js';
import type { ParameterSpec, ParameterVector, PolicyFamily } from './policy.js';
import type { ModulePolicyConfig } from './settings.js';

/** A policy family as a user's module returns it. */
export interface UserPolicyFamily {
  readonly parameters: Pick<ParameterSpec, 'count' | 'low' | 'high' | 'choices' | 'names'> & {
    /** Digits after the decimal point (default: 1); 0 makes the parameters integers. */
    readonly decimals?: number;
  };
  /** Describes in prompts how parameters become actions. */
  readonly description?: string;
  /** Turns a vector of `parameters.count` numbers into a policy. */
  build(vector: ParameterVector): (observation: Observation) => Action;
  /** Draws a random initial vector (default: each parameter uniform over its range or choices). */
  initial?(random: RandomGenerator): ParameterVector;
}

const parameterFields = {
  count: z.int().min(1),
  low: z.number(),
  high: z.number(),
  decimals: z.int().min(0).max(6),
  choices: z.array(z.number()).min(2).optional(),
  names: z.array(z.string()).optional(),
};

/** A run's record of a module's policies, used to display them without loading the module. */
export const recordedPolicySchema = z.object({
  name: z.string(),
  text: z.string(),
  parameters: z.object({
    ...parameterFields,
    count: parameterFields.count.max(1e7),
    kind: z.enum(['float', 'integer']),
  }),
});

export interface RecordedPolicy {
  readonly name: string;
  /** Describes in prompts how parameters become actions. */
  readonly text: string;
  readonly parameters: ParameterSpec;
}

/** Creates a policy family for display only, which can't build policies. */
export function recordedPolicies(recorded: RecordedPolicy | { readonly count: number }): PolicyFamily {
  const reject = () => {
    throw new UserError({ message: "recorded policies of a module are for display only and can't be run" });
  };
  const { name, parameters, text } =
    'name' in recorded
      ? recorded
      : { name: 'module policy', text: '', parameters: { ...unboundedSpec, count: recorded.count } };
  return { parameters, description: { kind: 'module', name, text }, build: reject, initial: reject };
}

const unboundedSpec = {
  kind: 'float' as const,
  decimals: 6,
  low: Number.NEGATIVE_INFINITY,
  high: Number.POSITIVE_INFINITY,
};

const parametersSchema = z
  .object({ ...parameterFields, decimals: parameterFields.decimals.default(1) })
  .refine(({ low, high }) => low < high, 'low must be below high')
  .refine(
    ({ choices = [], decimals }) => choices.every((choice) => Number(choice.toFixed(decimals)) === choice),
    'choices have more decimals than `decimals` (default: 1) allows',
  )
  .refine(({ count, names }) => (names?.length ?? count) === count, 'names must have one name per parameter');

const functionSchema = z.custom((value) => typeof value === 'function', 'must be a function');

const familySchema = z.object({
  parameters: parametersSchema,
  build: functionSchema,
  description: z.string().optional(),
  initial: functionSchema.optional(),
});

/** Loads policies from a module. @throws UserError that names the file and the fault */
export async function modulePolicies(
  { path, options }: ModulePolicyConfig,
  environment: EnvironmentSpec,
): Promise<PolicyFamily> {
  const { name, file, create } = await loadModule(path, 'policy', 'policy.path');
  const { id, observationSpace, actionSpace, maxSteps } = environment;
  const userFamily = await create(options, 'policy.options', { id, observationSpace, actionSpace, maxSteps });
  const moduleError = (message: string) => new UserError({ file, message });
  const { data, error } = familySchema.safeParse(userFamily);
  if (data === undefined) {
    const { path: issuePath, message } = error.issues[0]!;
    const part = issuePath.length === 0 ? '' : `${issuePath.join('.')} of `;
    throw moduleError(`${part}the policy created by ${basename(file)}: ${message}`);
  }
  const { description = '' } = data;
  const { build, initial } = userFamily as UserPolicyFamily;
  const { choices, names, ...range } = data.parameters;
  const parameters: ParameterSpec = {
    ...range,
    kind: range.decimals === 0 ? 'integer' : 'float',
    ...(choices && { choices }),
    ...(names && { names }),
  };
  const runGuarded = <T>(what: string, call: () => T): T => {
    try {
      return call();
    } catch (error) {
      throw new UserError({ ...errorLocation(file, error), message: `${what} threw: ${messageOf(error)}` });
    }
  };
  return {
    parameters,
    description: { kind: 'module', name, text: description },
    build(vector) {
      const policy = runGuarded('build', () => build.call(userFamily, vector));
      if (typeof policy !== 'function') throw moduleError('build must return a function');
      return (observation) => {
        const action = runGuarded('the policy', () => policy(observation));
        if (isValidAction(action, actionSpace)) return action;
        throw moduleError(`the policy returned ${inspect(action)}, which is not an action of ${id}`);
      };
    },
    initial: (random) =>
      initial === undefined
        ? uniformVector(parameters, random)
        : runGuarded('initial', () => initial.call(userFamily, random)),
  };
}
