/** Whether there is anything as far from what was tried as `novelty` asks for. */
import type { Config } from '../config/config.js';
import { formatNumber } from '../format/numbers.js';
import type { ParameterSpec } from '../policies/policy.js';
import { createValueGrid, isTable } from '../search/moves.js';
import { type Finding, warning } from './findings.js';

/** How far two random policies lie apart: the root of the mean of (x − y)²; for tables, the mean share of entries that differ. */
const apart = (spec: ParameterSpec): number =>
  isTable(spec) ? 1 - 1 / createValueGrid(spec).size : Math.sqrt(1 / 6);

export function noveltyFindings(
  { novelty }: Pick<Config, 'novelty'>,
  spec: ParameterSpec,
): readonly Finding[] {
  const usual = apart(spec);
  if (novelty === undefined || novelty.distance < usual) return [];
  const then =
    novelty.action === 'ask' ? 'are sent back again and again' : 'are moved as far as there is room';
  return [
    warning({
      field: 'novelty.distance',
      value: novelty.distance,
      message: `is more than lies between two random policies, ${formatNumber(usual, 2)} on average: after a few evaluations nearly all proposals ${then}`,
      remedy: 'lower novelty.distance, to 0.05 for example',
    }),
  ];
}
