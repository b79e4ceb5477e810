/** `policyloop check` for reinforcement learning: validates a config and forecasts what the run will need. */
import type { CommandContext } from '../../../src/base/context.js';
import { UserError } from '../../../src/base/errors.js';
import { isLearningConfig } from '../../../src/config/file.js';
import { type Finding, found } from '../../../src/preflight/findings.js';

/** Checks a config of `finetune rl`; undefined for other and unreadable configs. `offline` skips the trial update. */
export async function checkLearning(
  { file, overrides }: { readonly file: string; readonly overrides: readonly string[] },
  offline: boolean,
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
  const given = { ...context, note: (text: string) => void notes.push(text) };
  try {
    const { rlKind } = await import('./kind.js');
    const { load, train } = await rlKind(file, overrides, context.cwd);
    load(file, overrides, context.cwd, given.note);
    const read = [...notes.map((note) => found('config', note.trim())), found('config', 'valid')];
    if (offline) return [...read, found('forecast', 'skipped offline: it needs a trial update')];
    const printed: string[] = [];
    const args = { config: file, overrides, quiet: true, json: false, dryRun: true };
    const trying = { ...given, print: (text: string) => void printed.push(text), note: () => undefined };
    await train(args, trying);
    return [...read, ...printed.flatMap((text) => text.split('\n')).map(forecastFinding)];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.problems.map((problem) => ({ level: 'error', ...problem }));
  }
}

function forecastFinding(line: string): Finding {
  const [, field = 'forecast', message = line] = /^(\S+) +(.*)$/.exec(line) ?? [];
  return found(field, message);
}
