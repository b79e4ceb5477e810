/** Trains with `rl` configs of all kinds, and checks all configs except experiments. */
import type { CommandContext } from '../../../src/base/context.js';
import { UserError, unlessRejected } from '../../../src/base/errors.js';
import { type ConfigKindName, configKindOf, configKinds } from '../../../src/config/file.js';
import { type Finding, okFinding } from '../../../src/experiment/preflight/findings.js';
import { isNumericConfig, loadNumericConfig } from '../numeric/numeric-config.js';

/** @throws UserError if the config can't be read */
export async function loadRlKind(file: string, cwd: string) {
  if (isNumericConfig(file, cwd)) {
    const { runNumeric } = await import('../numeric/numeric.js');
    return { load: loadNumericConfig, train: runNumeric };
  }
  const { loadLearningConfig } = await import('../rl-config.js');
  const { runRl } = await import('../rl.js');
  return { load: loadLearningConfig, train: runRl };
}

type LoadConfig = (
  file: string,
  overrides: readonly string[],
  cwd: string,
  note: (text: string) => void,
) => unknown;

const loaders: Readonly<Record<Exclude<ConfigKindName, 'experiment'>, LoadConfig>> = {
  async agents(file, overrides, cwd, note) {
    const { loadPlayConfig } = await import('../../../src/agents/play-config.js');
    loadPlayConfig(file, overrides, cwd).notes.forEach(note);
  },
  async training(...source) {
    const { loadTrainConfig } = await import('../../train/train-config.js');
    loadTrainConfig(...source);
  },
  async rl(file, overrides, cwd, note) {
    const { load } = await loadRlKind(file, cwd);
    load(file, overrides, cwd, note);
  },
};

/** Checks a config of `play`, `finetune train` or `finetune rl`; undefined for other and unreadable configs. */
export async function checkConfigByKind(
  { file, overrides }: { readonly file: string; readonly overrides: readonly string[] },
  { cwd }: CommandContext,
): Promise<readonly Finding[] | undefined> {
  // The check for experiments will report an unreadable config.
  const kind = unlessRejected(() => configKindOf(file, cwd));
  if (kind === undefined || kind === 'experiment') return undefined;
  const notes: Finding[] = [];
  try {
    await loaders[kind](file, overrides, cwd, (note) => notes.push(okFinding('config', note.trim())));
    return [...notes, okFinding('config', `valid; for ${configKinds[kind].command}`)];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [...notes, ...error.problems.map((problem): Finding => ({ level: 'error', ...problem }))];
  }
}
