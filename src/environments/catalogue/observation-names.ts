import type { EnvironmentSpec } from '../environment.js';
/** pending */
export function observationNames(_environment: EnvironmentSpec): readonly (string | undefined)[] {
  return [];
}
