/** Imports the settings of LLM-RL-finetune for networks. */

import { change, type Draft, type Fields, given } from './draft.js';
import type { KeyImport } from './keys.js';
import { projection } from './llm-rl-finetune.js';

export const taskOf = ({ theirs }: Draft): string => String(given(theirs, 'task'));
export const isNetwork = (draft: Draft): boolean => taskOf(draft).includes('_mlp_');

export const networkFields: Fields = {
  ...{ 'policy.kind': 'mlp', 'policy.hidden': [11], 'policy.activation': 'leaky-relu' },
};

export const rank: KeyImport = (draft, key, value, reading) => {
  if (!isNetwork(draft)) return projection(draft, key, value, reading);
  const reason =
    'in the original, each of the two layers is projected from this many numbers; here, both are projected together from twice as many';
  const both = typeof value === 'number' ? 2 * value : value;
  return change(draft, key, reason, { 'policy.projection.rank': both });
};
