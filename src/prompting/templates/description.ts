/** Finds and renders the template that describes an environment. */
import { join } from 'node:path';
import { UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { environmentFacts, environmentFamily, environmentName } from '../../environments/catalogue/facts.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import { descriptionSchema } from '../context/prompt-context.js';
import { descriptionContext } from '../context/task-context.js';
import { loadTemplates } from './rendering.js';
import { isFile } from './template-files.js';
import { samplesOf } from './variables.js';

/** Renders the package's own description of an environment, if it has one; `maxSteps` is an additional step limit. */
export function environmentDescription(
  environment: EnvironmentSpec,
  options: Readonly<Record<string, unknown>>,
  maxSteps: number,
): string | undefined {
  const root = join(packageRoot(), 'prompts');
  const file = findDescriptionFile(root, environment, undefined);
  if (file === join(root, 'environments', 'any.hbs')) return undefined;
  const facts = environmentFacts(environment.id, options);
  const { renderers } = loadTemplates([{ file, samples: samplesOf(descriptionSchema, { facts }) }], [root]);
  return renderers[0]!({ ...descriptionContext(environment, options, maxSteps), facts });
}

/** Finds the file that describes an environment: in the config, the prompt set or the package. */
export function findDescriptionFile(
  set: string,
  { id, words }: Pick<EnvironmentSpec, 'id' | 'words'>,
  ownFile: string | undefined,
): string {
  if (ownFile !== undefined) {
    if (isFile(ownFile)) return ownFile;
    throw new UserError({ field: 'prompts.description', message: 'there is no such file', value: ownFile });
  }
  const root = join(packageRoot(), 'prompts');
  const candidates = [set, root].flatMap((folder) =>
    [id, environmentName(id), environmentFamily(id)].map((name) =>
      join(folder, 'environments', `${fileName(name)}.hbs`),
    ),
  );
  return (
    candidates.find(isFile) ?? join(root, 'environments', words === undefined ? 'any.hbs' : 'described.hbs')
  );
}

/** Ids may contain characters that file names can't, such as the slash after a namespace. */
const fileName = (id: string): string => id.replace(/[^\w.-]/g, '-');
