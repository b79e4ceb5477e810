import { z } from 'zod';
import { UserError } from '../base/errors.js';
import type { EnvironmentSpec } from '../environments/environment.js';
import { linearPolicies } from './linear.js';
import { mlpPolicies } from './mlp.js';
import { modulePolicies } from './module-policy.js';
import type { PolicyFamily } from './policy.js';
import { openProgramPolicies, programPolicies } from './program-policies.js';
import { qTablePolicies } from './q-table.js';
import {
  type BuiltInPolicyConfig,
  linearSchema,
  mlpSchema,
  modulePolicySchema,
  type PolicyConfig,
  type ProgramConfig,
  programSchema,
  qTableSchema,
} from './settings.js';

interface FamilyEntry {
  readonly name: PolicyConfig['kind'];
  readonly schema: z.ZodType;
  /** @throws UserError if the policies don't fit the environment */
  create(config: { readonly kind: string }, environment: EnvironmentSpec): PolicyFamily;
}

const families = [
  { name: 'linear', schema: linearSchema, create: linearPolicies },
  { name: 'mlp', schema: mlpSchema, create: mlpPolicies },
  { name: 'q-table', schema: qTableSchema, create: qTablePolicies },
  {
    name: 'program',
    schema: programSchema,
    create: (_: ProgramConfig, environment: EnvironmentSpec) => programPolicies(environment),
  },
] as const satisfies readonly FamilyEntry[];

const [linear, mlp, qTable, program] = families;
export const policySchema = z.discriminatedUnion('kind', [
  linear.schema,
  mlp.schema,
  qTable.schema,
  program.schema,
  modulePolicySchema,
]);

/**
 * Creates a built-in policy family. A family of programs can't build policies; `openPolicyFamily` returns one that can.
 * @throws UserError if the family doesn't fit the environment, or comes from a module
 */
export function createPolicyFamily(config: PolicyConfig, environment: EnvironmentSpec): PolicyFamily {
  const entry: FamilyEntry | undefined = families.find(({ name }) => name === config.kind);
  if (entry !== undefined) return entry.create(config, environment);
  throw new UserError({
    field: 'policy.kind',
    message: 'policies from a module must be loaded first',
    hint: 'use openPolicyFamily',
  });
}

/** Returns the default policy: a Q-table for discrete observations, otherwise linear. */
export function defaultPolicyConfig({ observationSpace }: EnvironmentSpec): BuiltInPolicyConfig {
  if (observationSpace.kind === 'discrete') {
    return { kind: 'q-table', form: 'actions', low: -10, high: 10, decimals: 1 };
  }
  return { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 };
}

/**
 * Works like `createPolicyFamily`, but can also load policies from a module, and run programs (after `prepare`).
 * @throws UserError if the module can't be loaded, or the family doesn't fit the environment
 */
export async function openPolicyFamily(
  config: PolicyConfig,
  environment: EnvironmentSpec,
): Promise<PolicyFamily> {
  switch (config.kind) {
    case 'module':
      return modulePolicies(config, environment);
    case 'program':
      return openProgramPolicies(environment);
    default:
      return createPolicyFamily(config, environment);
  }
}
