import type { EnvironmentSpec } from '../../environments/environment.js';
import type { Policy } from '../policy.js';
export interface Sandbox {
  readonly ended?: boolean;
  build(source: string): Policy;
  close(): void;
}
export async function openSandbox(_environment: EnvironmentSpec): Promise<Sandbox> {
  throw new Error('pending');
}
