/** Grid search, networks, changes and beams of LLM-RL-finetune. */
import { carry, change, type Draft, drop, type Fields, given, isOn } from './draft.js';
import { type KeyImport, warmUp } from './keys.js';
import { projection } from './llm-rl-finetune.js';

export const taskOf = ({ theirs }: Draft): string => String(given(theirs, 'task'));
export const isGridSearch = (draft: Draft): boolean => taskOf(draft).includes('_grid_search');
export const isNetwork = (draft: Draft): boolean => taskOf(draft).includes('_mlp_');

/** Their grids start at -10 and go in steps of 1 (MountainCarContinuous) or 2 to the last value below 10. */
export function gridFields(draft: Draft): Fields {
  const isFine = taskOf(draft).startsWith('mountaincar');
  return {
    ...{ 'model.provider': 'grid', 'model.order': 'rows', 'model.points': isFine ? 20 : 10 },
    ...{ 'policy.low': -10, 'policy.high': isFine ? 9 : 8 },
  };
}

export const networkFields: Fields = {
  ...{ 'policy.kind': 'mlp', 'policy.hidden': [11], 'policy.activation': 'leaky-relu' },
};

/** Their networks project each of the two layers from this many numbers. */
export const rank: KeyImport = (draft, key, value, reading) => {
  if (!isNetwork(draft)) return projection(draft, key, value, reading);
  const reason = 'so many numbers make each of the two layers there; twice as many make both here';
  const both = typeof value === 'number' ? 2 * value : value;
  return change(draft, key, reason, { 'policy.projection.rank': both });
};

const widthOf = ({ theirs }: Draft) => given(theirs, 'beam_width') ?? 5;

export const isBeam = ({ theirs }: Draft) => isOn(given(theirs, 'beam'));

export const delta: KeyImport = (draft, key, value) => {
  if (!isOn(value)) return carry(draft, key);
  if (isBeam(draft)) return drop(draft, key, 'has no effect there beside beam: true');
  return carry(draft, key, { 'proposal.form': 'delta' });
};

export const beam: KeyImport = (draft, key, value) => {
  if (!isOn(value)) return carry(draft, key);
  const [width, each] = [widthOf(draft), given(draft.theirs, 'num_new_candidate') ?? 5];
  const candidates = typeof width === 'number' && typeof each === 'number' ? width * each : undefined;
  const reason = `${String(each)} proposals from each parent, all played over evaluation.episodes; the warm-up gives the first parents, there the untrained policy`;
  return change(draft, key, reason, { 'proposal.beam': width, candidates });
};

export const beamWidth: KeyImport = (draft, key, value) =>
  isBeam(draft) ? carry(draft, key, { 'proposal.beam': value }) : drop(draft, key, onlyWithBeam);

export const temperature: KeyImport = (draft, key, value) =>
  isBeam(draft) ? carry(draft, key, { 'model.temperature': value }) : drop(draft, key, onlyWithBeam);

/** If no policies are drawn in the original, the untrained one is the first parent. */
export const firstPolicies: KeyImport = (draft, key, value, reading) => {
  const isNeeded = isBeam(draft) || isOn(given(draft.theirs, 'delta'));
  if (value !== 0 || !isNeeded) return warmUp(draft, key, value, reading);
  const reason = 'a random policy is the first parent, there the untrained one';
  return change(draft, key, reason, { 'warmup.policies': 1 });
};

export const onlyWithBeam = 'has a meaning with beam: true only';
