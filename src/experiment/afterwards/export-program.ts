/** Exports a run's program to a standalone file. */
import { basename, resolve } from 'node:path';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { version } from '../../base/package.js';
import { formatInterval, formatReturn, plural } from '../../format/numbers.js';
import { programsOf } from '../../policies/policy.js';
import { exportedProgram, type ProgramLanguage, programLanguages } from '../../programs/export/export.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { findRun } from '../../runs/listing/names.js';
import { choosePolicy, type OpenedRun, readShownRun } from '../../runs/open-run.js';
import { placeName } from '../../runs/summary.js';
import { replaceFile } from '../../storage/files.js';

interface ProgramRequest {
  readonly run: string;
  readonly runsDir: string;
  /** Defaults to the iteration of the run's best policy. */
  readonly iteration?: number | undefined;
  /** 1-based candidate number within the iteration; defaults to the iteration's best. */
  readonly candidate?: number | undefined;
  /** Defaults to `js`. */
  readonly language?: string | undefined;
  /** Defaults to `policy.js` or `policy.py` in the working directory. */
  readonly out?: string | undefined;
}

/** An exported file and the candidate whose program it contains. */
export interface ExportedProgram {
  readonly file: string;
  readonly language: ProgramLanguage;
  readonly iteration: number;
  /** 0-based. */
  readonly candidate: number;
}

/** @throws UserError if the language is unknown, or the run's policies aren't programs or can't be translated */
export async function exportProgram(
  { candidate, iteration, language: wanted = 'js', out, run: name, runsDir }: ProgramRequest,
  { cwd }: Pick<CommandContext, 'cwd'>,
): Promise<ExportedProgram> {
  const language = programLanguages.find((one) => one === wanted);
  if (language === undefined)
    throw new UserError({
      ...{ field: '--language', value: wanted, message: 'unknown language' },
      alternatives: programLanguages,
    });
  const run = await readShownRun(findRun(name, { cwd, runsDir }));
  const programs = programsOf(run.family);
  if (programs === undefined)
    throw new UserError({
      ...{ value: name, message: "this run's policies aren't programs" },
      remedy: 'choose a run with policy.kind: program',
    });
  const entry = choosePolicy(run, iteration ?? 'best', candidate);
  const { source } = programs.program(entry.parameters);
  const text = exportedProgram(language, source, run.environment, describedIn(run, entry));
  const file = resolve(cwd, out ?? (language === 'js' ? 'policy.js' : 'policy.py'));
  replaceFile(file, text);
  return { file: shownPath(file, cwd), language, iteration: entry.iteration, candidate: entry.candidate };
}

/** Lines for the file's header: the program's origin, its return (confirmed, if possible) and a caveat. */
function describedIn({ config, manifest, path }: OpenedRun, entry: BufferEntry): readonly string[] {
  const { options } = config.environment;
  const given = Object.keys(options).length === 0 ? '' : ` ${JSON.stringify(options)}`;
  const confirmed = manifest.confirmations.findLast(
    ({ candidate, iteration }) => iteration === entry.iteration && candidate === entry.candidate,
  );
  const result =
    confirmed === undefined
      ? `Mean return ${formatReturn(entry.score)} (${plural(entry.returns.length, 'episode')}, not confirmed)`
      : `Confirmed mean return ${formatReturn(confirmed.mean)}, 95 % interval ${formatInterval(confirmed.ci95)} (${plural(confirmed.episodes, 'episode')})`;
  return [
    `A policy for ${manifest.environment}${given}, written by policyloop ${version()}`,
    `Run ${basename(path)}, ${placeName(entry, config)}, seed ${manifest.seed}, model ${manifest.model}`,
    result,
    'Functions such as exp and sin may return values that differ in the last digit from those in the sandbox',
  ];
}
