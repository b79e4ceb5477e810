/** Settings of an agent: the `policy` section in agent configs, and `agent` in reinforcement-learning configs. */
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { describe } from '../models/settings.js';

const count = (minimum: number) => z.int().min(minimum);

/** After a reply without an action: ask again, draw a random action, take the first action, or end the episode. */
export const fallbacks = ['ask-again', 'random', 'first', 'end'] as const;
export type Fallback = (typeof fallbacks)[number];

export const agentShape = {
  prompts: describe(
    'Prompt set: a built-in name, the path of a folder, or `plain` for bare observations (default: depends on the environment)',
    z.string().min(1).optional(),
    { format: 'name-or-path' },
  ),
  history: describe(
    'Maximum number of previous turns to show to the model; retries of the current turn are always shown',
    count(0).default(1000),
  ),
  historyTokens: count(1)
    .optional()
    .describe('Prompt length in tokens above which the oldest turns are dropped'),
  asks: describe(
    'Maximum number of consecutive retries with `fallback: ask-again`; then a random action is drawn, if possible',
    count(1).default(2),
  ),
};

/**
 * @param field name of the section in the config
 * @throws UserError if `act` or `fallback` needs a list of the possible actions, and there is none
 */
export function requireListedActions(
  { act, fallback }: { readonly act: string; readonly fallback: Fallback },
  isListed: boolean,
  field: 'agent' | 'policy',
  id: string,
): void {
  const [key, value] = act === 'constrained' ? (['act', act] as const) : (['fallback', fallback] as const);
  if (isListed || !['constrained', 'random', 'first'].includes(value)) return;
  throw new UserError({
    field: `${field}.${key}`,
    value,
    message: `needs a list of the possible actions, which ${id} doesn't have`,
    alternatives: key === 'act' ? ['text', 'json'] : ['ask-again', 'end'],
  });
}
