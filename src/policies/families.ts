import type { EnvironmentSpec } from '../environments/environment.js';
import { linearPolicies } from './linear.js';
import type { PolicyFamily } from './policy.js';
import { qTablePolicies } from './q-table.js';
import type { PolicyConfig } from './settings.js';

/**
 * The policies that `config` names, for the spaces of `environment`.
 * @throws UserError when the two don't go together.
 */
export function createPolicyFamily(config: PolicyConfig, environment: EnvironmentSpec): PolicyFamily {
  switch (config.kind) {
    case 'linear':
      return linearPolicies(config, environment);
    case 'q-table':
      return qTablePolicies(config, environment);
  }
}
