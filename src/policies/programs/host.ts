/** Module that runs programs in the thread of `family.ts`. */
import type { EnvironmentSpec } from '../../environments/environment.js';
import { policyFor } from '../policy.js';
import { openSandbox } from './sandbox.js';

export default {
  async create(environment: EnvironmentSpec) {
    const sandbox = await openSandbox(environment);
    return { build: (source: string, seed: number) => policyFor(sandbox.build(source), seed) };
  },
};
