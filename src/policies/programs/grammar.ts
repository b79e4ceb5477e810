import type { EnvironmentSpec } from '../../environments/environment.js';
import type { RandomGenerator } from '../../random/generator.js';
export function randomProgram(_environment: EnvironmentSpec, _random: RandomGenerator): string {
  throw new Error('pending');
}
