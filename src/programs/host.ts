/** The module that `policies/program-policies.ts` loads in a separate thread to run programs. */
import type { EnvironmentSpec } from '../environments/environment.js';
import { openSandbox } from './sandbox.js';

export default {
  async create(environment: EnvironmentSpec) {
    const sandbox = await openSandbox(environment);
    return { build: (source: string, seed: number) => sandbox.build(source).forEpisode(seed) };
  },
};
