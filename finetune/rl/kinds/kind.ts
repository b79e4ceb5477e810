import { isNumericConfig, loadNumericConfig } from '../numeric/numeric-config.js';

/** @throws UserError if the config can't be read or an override is malformed */
export async function rlKind(file: string, overrides: readonly string[], cwd: string) {
  if (isNumericConfig(file, overrides, cwd)) {
    const { numeric } = await import('../numeric/numeric.js');
    return { load: loadNumericConfig, train: numeric };
  }
  const { loadLearningConfig } = await import('../rl-config.js');
  const { rl } = await import('../rl.js');
  return { load: loadLearningConfig, train: rl };
}
