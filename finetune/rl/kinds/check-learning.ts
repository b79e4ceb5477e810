/** `policyloop check` for reinforcement learning: validates a config. */
import type { CommandContext } from '../../../src/base/context.js';
import { UserError } from '../../../src/base/errors.js';
import { isLearningConfig } from '../../../src/config/file.js';
import { type Finding, found } from '../../../src/preflight/findings.js';

/** Checks a config of `finetune rl`; undefined for other and unreadable configs. */
export async function checkLearning(
  { file, overrides }: { readonly file: string; readonly overrides: readonly string[] },
  _offline: boolean,
  context: CommandContext,
): Promise<readonly Finding[] | undefined> {
  try {
    if (!isLearningConfig(file, context.cwd)) return undefined;
  } catch (error) {
    // The check for experiments will report the unreadable config.
    if (error instanceof UserError) return undefined;
    throw error;
  }
  const notes: string[] = [];
  try {
    const { rlKind } = await import('./kind.js');
    const { load } = await rlKind(file, overrides, context.cwd);
    load(file, overrides, context.cwd, (text) => void notes.push(text));
    return [...notes.map((note) => found('config', note.trim())), found('config', 'valid')];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.problems.map((problem) => ({ level: 'error', ...problem }));
  }
}
