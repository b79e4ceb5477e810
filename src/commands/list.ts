import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UserError } from '../errors.js';
import type { Manifest } from '../manifest.js';
import { groupFile, readManifest, runFiles, statusOf } from '../recorded-run.js';
import { finalConfirmation } from '../run-log.js';
import { type CommandContext, formatReturn, formatTable } from '../terminal.js';

/** `policyloop list`. Reads manifests only. */
export function listCommand(
  args: { readonly runsDir: string; readonly json: boolean },
  context: CommandContext,
): Promise<number> {
  const root = resolve(context.cwd, args.runsDir);
  const names = findRuns(root, '');
  const runs = names
    .flatMap((name) => {
      const manifest = manifestOf(join(root, name));
      if (manifest !== undefined) return [{ name, status: statusOf(join(root, name), manifest), manifest }];
      context.note(`${name}: its manifest is damaged; policyloop show ${name} says how`);
      return [];
    })
    .toSorted((a, b) => (a.manifest.created < b.manifest.created ? -1 : 1));
  if (args.json) {
    context.print(JSON.stringify(runs.map(({ name, status, manifest }) => ({ name, ...manifest, status }))));
    return Promise.resolve(0);
  }
  if (names.length === 0) {
    context.note(`no runs in ${args.runsDir}; policyloop run quickstart makes one`);
    return Promise.resolve(0);
  }
  const rows = runs.map(({ name, status, manifest }) => {
    const final = finalConfirmation(manifest.confirmations);
    return [
      name,
      status,
      manifest.environment,
      manifest.model,
      `${manifest.iterations.done}/${manifest.iterations.of}`,
      manifest.best === undefined ? '–' : formatReturn(manifest.best.return),
      final === undefined ? '–' : formatReturn(final.mean),
      manifest.created.slice(0, 16).replace('T', ' '),
    ];
  });
  context.print(
    formatTable(
      ['run', 'status', 'environment', 'model', 'iterations', 'observed', 'confirmed', 'started (UTC)'],
      rows,
    ),
  );
  return Promise.resolve(0);
}

/** undefined where it is damaged. */
function manifestOf(path: string): Manifest | undefined {
  try {
    return readManifest(path);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** Names of the runs below `root`, repeats as `group/repeat-1`. */
function findRuns(root: string, prefix: string): readonly string[] {
  if (!existsSync(root)) return [];
  if (!statSync(root).isDirectory()) {
    throw new UserError({ field: '--runs-dir', message: 'this is a file, not a directory', value: root });
  }
  return readdirSync(root, { withFileTypes: true }).flatMap((item) => {
    if (!item.isDirectory()) return [];
    const path = join(root, item.name);
    if (existsSync(join(path, runFiles.manifest))) return [prefix + item.name];
    return existsSync(join(path, groupFile)) ? findRuns(path, `${prefix}${item.name}/`) : [];
  });
}
