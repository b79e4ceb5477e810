/** What is there and works on this machine, and what to do where it isn't. */

import { styleText } from 'node:util';
import { largest } from '../statistics/descriptive.js';
import {
  type Check,
  cachedModels,
  computer,
  disk,
  gymnasium,
  keys,
  modelRuntime,
  network,
  nodeVersion,
  ollama,
  packages,
  python,
  type Surroundings,
} from './doctor-checks.js';

export interface Examination {
  /** No problem: what there is can be used. */
  readonly healthy: boolean;
  readonly checks: readonly Check[];
}

/** Looks at everything; nothing is installed, written or paid for. */
export async function examine(surroundings: Surroundings): Promise<Examination> {
  const checks = await Promise.all([
    nodeVersion(process.versions.node),
    ...computer(),
    disk(surroundings),
    modelRuntime(),
    ollama(surroundings),
    cachedModels(surroundings),
    python(surroundings),
    gymnasium(surroundings),
    ...packages(),
    ...keys(surroundings),
    network(surroundings),
  ]);
  return { healthy: checks.every(({ status }) => status !== 'problem'), checks };
}

const marks = {
  ok: () => styleText('green', 'ok     '),
  missing: () => styleText('yellow', 'none   '),
  problem: () => styleText('red', 'problem'),
} as const;

/** A line a check, its remedy below it. */
export function examinationText({ checks }: Examination): string {
  const width = largest(checks.map(({ name }) => name.length));
  return checks
    .flatMap(({ found, name, remedy, status }) => [
      `${marks[status]()}  ${name.padEnd(width)}  ${found}`,
      ...(remedy === undefined ? [] : [`${' '.repeat(width + 11)}${remedy}`]),
    ])
    .join('\n');
}
