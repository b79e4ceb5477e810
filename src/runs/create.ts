import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { claimDirectory, makeDirectory, plainName, replaceFile } from '../base/files/files.js';
import { isLocked, takeLock } from '../base/files/lock.js';
import type { ParameterVector } from '../policies/policy.js';
import type { Manifest } from './manifest.js';
import { emptyRun, runFiles } from './reader.js';
import { type RunDirectory, RunWriter } from './writer.js';

/**
 * The directory of a new run: `runDir` or, created in `runsDir`, `<name>-<date>-<time>` (UTC; numbered if taken).
 * @param name the config's `name` (default: the name of its file)
 */
export function newRunPath(
  { runDir, runsDir }: { readonly runDir?: string | undefined; readonly runsDir: string },
  file: string,
  { cwd, now }: Pick<CommandContext, 'cwd' | 'now'>,
  name = plainName(basename(file, extname(file)), 'run'),
): string {
  if (runDir !== undefined) return resolve(cwd, runDir);
  const [date, time] = now().toISOString().replaceAll(/[-:]/g, '').split(/[T.]/);
  return claimDirectory(resolve(cwd, runsDir), `${name}-${date}-${time}`);
}

/** @throws UserError if the directory is locked or not empty; files left by an interrupted start don't count */
export function createRunDirectory(
  path: string,
  content: {
    readonly imported?: readonly ParameterVector[];
    readonly configYaml: string;
    readonly manifest: Manifest;
    readonly now: () => Date;
  },
): RunDirectory {
  const lock = join(path, runFiles.lock);
  try {
    requireEmpty(path);
  } catch (error) {
    // If another process has just started this run, `takeLock` throws an error that names that process.
    if (isLocked(lock)) takeLock(lock)();
    throw error;
  }
  makeDirectory(path);
  const release = takeLock(lock);
  const { imported = [] } = content;
  try {
    writeInitialFiles(path, {
      [runFiles.config]: content.configYaml,
      ...(imported.length > 0 && { [runFiles.imported]: JSON.stringify(imported) }),
      // Write the manifest last, because it makes the directory a run.
      [runFiles.manifest]: JSON.stringify(content.manifest, null, 2),
    });
    const { manifest, now } = content;
    return new RunWriter({ path, manifest, recorded: emptyRun, release, now });
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Writes the files that turn an empty directory into a run. Removes them all if writing fails, so the command can be
 * repeated.
 */
function writeInitialFiles(path: string, files: Readonly<Record<string, string>>): void {
  try {
    for (const [name, content] of Object.entries(files)) replaceFile(join(path, name), content);
  } catch (error) {
    for (const name of Object.keys(files)) rmSync(join(path, name), { force: true });
    throw error;
  }
}

export function requireEmpty(path: string): void {
  if (!existsSync(path)) return;
  const names = readdirSync(path);
  if (names.length === 0 || isInterruptedStart(path, names)) return;
  const isRun = existsSync(join(path, runFiles.manifest));
  throw new UserError({
    field: '--run-dir',
    message: isRun ? 'this directory already contains a run' : 'this directory is not empty',
    value: path,
    hint: isRun
      ? `resume it with policyloop resume ${path}, or choose another directory for a new run`
      : 'choose a new or empty directory',
  });
}

/**
 * True if all files come from a process that was killed before its run existed. A lock file proves that policyloop
 * wrote them.
 */
function isInterruptedStart(path: string, names: readonly string[]): boolean {
  const { config, imported, manifest } = runFiles;
  const startFiles = [config, imported, manifest].flatMap((name) => [name, `${name}.new`]);
  const isOurs = (name: string) =>
    name.startsWith(runFiles.lock) || (startFiles.includes(name) && name !== runFiles.manifest);
  const hasLock = names.some((name) => name.startsWith(runFiles.lock));
  return names.every(isOurs) && hasLock && !isLocked(join(path, runFiles.lock));
}
