import { createRequire } from 'node:module';
import { UserError } from '../../../base/errors.js';

/**
 * Ensures that the runtime of local models is installed. It is an optional dependency: installation succeeds
 * even if its own script fails or it is omitted.
 * @throws UserError that says how to install it
 */
export function requireRuntime(
  resolve: (name: string) => string = createRequire(import.meta.url).resolve,
): void {
  try {
    resolve('onnxruntime-node');
  } catch {
    throw new UserError({
      field: 'model.provider',
      value: 'local',
      message: 'the runtime of local models, onnxruntime-node, was left out when policyloop was installed',
      remedy: 'install it without its script, which downloads: npm install --ignore-scripts policyloop',
    });
  }
}
