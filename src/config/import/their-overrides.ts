import { UserError } from '../../errors.js';
import { parseOverride } from '../../settings/overrides.js';
import { isMapping } from '../../settings/schema.js';
import type { TheirConfig } from './draft.js';
import { isForeignKey } from './import-config.js';

/**
 * Applies those overrides that name keys of theirs (`num_episodes=5`, `env_kwargs.is_slippery=false`), as their command
 * lines do.
 * @returns their config with them, and the overrides that are left
 */
export function applyTheirOverrides(
  theirs: TheirConfig,
  texts: readonly string[],
): { readonly theirs: TheirConfig; readonly others: readonly string[] } {
  const changed: Record<string, unknown> = structuredClone({ ...theirs });
  const others = texts.filter((text) => {
    const [first = ''] = text.split(/[.=]/);
    if (!isForeignKey(first)) return true;
    const override = parseOverride(text, 'num_episodes=5 or seed=7');
    if ('message' in override) throw new UserError(override);
    const [key = '', option, ...deeper] = override.path;
    const value = override.source === '' ? undefined : override.value;
    if (deeper.length > 0) {
      throw new UserError({
        file: `override ${text}`,
        message: 'no key of theirs is so deep',
        value: override.path.join('.'),
      });
    }
    if (option === undefined) changed[key] = value;
    else changed[key] = { ...(isMapping(changed[key]) ? changed[key] : {}), [option]: value };
    return false;
  });
  return { theirs: changed, others };
}
