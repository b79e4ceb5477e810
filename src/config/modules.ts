/** The short form of a section that names a user's file. */
import { isModulePath } from '../modules/user-module.js';
import { isMapping } from '../settings/schema.js';

/** Writes `{provider: ./my-model.js}` and `{kind: ./my-policy.js}` out: the first as `{provider: module, path: ./my-model.js}`. */
export function withModules(content: Record<string, unknown>): Record<string, unknown> {
  const written = Object.entries({ policy: 'kind', model: 'provider' }).flatMap(([section, key]) => {
    const value = content[section];
    if (!isMapping(value)) return [];
    const { [key]: name, ...rest } = value;
    if (typeof name !== 'string' || !isModulePath(name)) return [];
    return [[section, { [key]: 'module', ...rest, path: name }]];
  });
  return { ...content, ...Object.fromEntries(written) };
}
