/** Models that come with the package. Configs name them by their path in it, which holds on every machine. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../errors.js';
import { packageRoot } from '../../package-root.js';

const scheme = 'package:';

/** The embedded model: a small one that was trained to improve policies. */
export const embeddedModel = `${scheme}models/tiny-improver`;

export const isPackaged = (path: string): boolean => path.startsWith(scheme);

/**
 * The directory that a config's `path` names: below the package for `package:…`, else as it stands.
 * @throws UserError when the package holds no such directory
 */
export function modelDirectory(path: string): string {
  if (!isPackaged(path)) return path;
  const directory = join(packageRoot(), path.slice(scheme.length));
  if (existsSync(directory)) return directory;
  throw new UserError({
    field: 'model.path',
    message: `this installation of policyloop holds no such model: there is no directory ${directory}`,
    value: path,
    remedy: 'install the package again, or name the directory of a Hugging Face model',
  });
}
