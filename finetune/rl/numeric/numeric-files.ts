/** The files of a trained numeric policy. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../../../src/base/files/files.js';
import { bestParameters, type TrainingState } from '../../engine/checkpoint.js';
import { tensorOf, writeSafetensors } from '../../engine/safetensors-writer.js';
import type { NumericConfig } from './numeric-config.js';

/**
 * Writes the best policy: policy.safetensors (parameters, observation moments) and policy.json. Returns their directory.
 */
export function writePolicy(
  { output, environment, policy, normalizeObservations }: NumericConfig,
  state: TrainingState,
): string {
  const directory = join(output, 'policy');
  mkdirSync(directory, { recursive: true });
  const parameters = bestParameters(state);
  const written = parameters.filter(({ name }) => name !== 'value' && name !== 'observed.count');
  writeSafetensors(
    join(directory, 'policy.safetensors'),
    written.map((one) => tensorOf(one, one.values)),
  );
  const about = {
    environment,
    policy,
    normalizeObservations,
    observed: parameters.find(({ name }) => name === 'observed.count')!.values[0],
    ...(state.best && { step: state.best.step, meanReturn: -state.best.loss }),
  };
  replaceFile(join(directory, 'policy.json'), `${JSON.stringify(about, null, 2)}\n`);
  return directory;
}
