import { UserError } from '../../base/errors.js';
import { isRecord, loadModule } from '../../modules/user-module.js';

type Helper = string | number | boolean | ((...given: unknown[]) => unknown);

/** What a user's templates may use in addition to the context: `{{shout environment.id}}`, `{{laboratory}}`. */
export type TemplateHelpers = ReadonlyMap<string, Helper>;

/** @throws UserError that names the file and what is missing or wrong */
export async function loadHelpers(path: string): Promise<TemplateHelpers> {
  const { file, create } = await loadModule(path, 'helpers', 'prompts.helpers');
  const made = await create({}, 'prompts.helpers');
  if (!isRecord(made)) throw new UserError({ file, message: 'create returned no object of helpers' });
  const helpers = new Map<string, Helper>();
  for (const [name, value] of Object.entries(made)) {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      const message = 'the name of a helper has letters, digits and _ only';
      throw new UserError({ file, message, value: name });
    }
    if (!isHelper(value)) {
      throw new UserError({ file, message: `the helper ${name} is no function, text, number or boolean` });
    }
    helpers.set(name, value);
  }
  return helpers;
}

function isHelper(value: unknown): value is Helper {
  return ['string', 'number', 'boolean', 'function'].includes(typeof value);
}
