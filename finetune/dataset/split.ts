/** Splits the data into training and validation by whole runs or games, never by rows. */
import { append } from '../../src/base/append.js';
import { UserError } from '../../src/base/errors.js';
import { isMatch } from '../../src/base/pattern.js';
import { createGenerator, shuffled } from '../../src/base/random/generator.js';
import { sum } from '../../src/statistics/descriptive.js';

export type ValidationPlan =
  | { readonly kind: 'none' }
  /** About this fraction of the examples; dependent runs stay together. */
  | { readonly kind: 'share'; readonly share: number }
  /** Runs and environments with these names. `*` matches any text, `?` any single character. */
  | { readonly kind: 'named'; readonly names: readonly string[] };

export interface RunToSplit {
  readonly name: string;
  readonly environment: string;
  /** Runs that share a key are dependent. */
  readonly keys: readonly string[];
  /** Number of examples; default 1. */
  readonly size?: number;
}

/** Parses `none`, a fraction or comma-separated names. @throws UserError for empty names or numbers outside (0, 1) */
export function parseValidation(text: string): ValidationPlan {
  const names = text.split(',').map((name) => name.trim());
  const share = Number(text);
  if (text.trim() === 'none') return { kind: 'none' };
  if (share > 0 && share < 1) return { kind: 'share', share };
  if (Number.isNaN(share) && !names.includes('')) return { kind: 'named', names };
  throw new UserError({
    field: '--validation',
    message: 'must be names, or a fraction between 0 and 1',
    value: text,
    alternatives: [
      'none',
      'a fraction of the examples, e.g. 0.1',
      'names of environments or runs, e.g. Pendulum-v1',
    ],
  });
}

/** @throws UserError for a name that matches no run or environment */
export function validationRuns(
  runs: readonly RunToSplit[],
  plan: ValidationPlan,
  seed: number,
): ReadonlySet<string> {
  switch (plan.kind) {
    case 'none':
      return new Set();
    case 'share':
      return new Set(drawShare(dependentGroups(runs), plan.share, seed).map(({ name }) => name));
    case 'named':
      return new Set(plan.names.flatMap((name) => namedRuns(name, runs)));
  }
}

type RunGroup = readonly RunToSplit[];

/** Draws groups unless they move the size away from the share. Each split gets a group if two or more have examples. */
function drawShare(groups: readonly RunGroup[], share: number, seed: number): RunGroup {
  const sizeOf = (group: RunGroup) => sum(group.map(({ size = 1 }) => size));
  const shuffledGroups = shuffled(groups.filter(sizeOf), createGenerator(seed));
  const allRuns = shuffledGroups.flat();
  const target = share * sizeOf(allRuns);
  const distance = (group: RunGroup) => Math.abs(sizeOf(group) - target);
  let chosenRuns: RunGroup = [];
  for (const group of shuffledGroups) {
    const moreRuns = [...chosenRuns, ...group];
    if (moreRuns.length < allRuns.length && distance(moreRuns) <= distance(chosenRuns)) chosenRuns = moreRuns;
  }
  const [first, ...others] = shuffledGroups.toSorted((a, b) => distance(a) - distance(b));
  return chosenRuns.length === 0 && others.length > 0 ? first! : chosenRuns;
}

function namedRuns(query: string, runs: readonly RunToSplit[]): readonly string[] {
  const found = runs.filter(({ name, environment }) => isMatch(query, name) || isMatch(query, environment));
  if (found.length > 0) return found.map(({ name }) => name);
  throw new UserError({
    field: '--validation',
    message: 'no run or environment has this name',
    value: query,
    alternatives: [
      ...new Set([...runs.map(({ environment }) => environment), ...runs.map(({ name }) => name)]),
    ],
  });
}

/** Groups runs that share keys, directly or indirectly; ordered by first run. */
export function dependentGroups(runs: readonly RunToSplit[]): readonly RunGroup[] {
  let groups: { readonly keys: Set<string>; readonly runs: RunToSplit[] }[] = [];
  for (const run of runs) {
    const relatedGroups = groups.filter(({ keys }) => run.keys.some((key) => keys.has(key)));
    const mergedGroup = relatedGroups[0] ?? { keys: new Set<string>(), runs: [] };
    if (relatedGroups.length === 0) groups.push(mergedGroup);
    for (const other of relatedGroups.slice(1)) {
      append(mergedGroup.runs, other.runs);
      for (const key of other.keys) mergedGroup.keys.add(key);
    }
    mergedGroup.runs.push(run);
    for (const key of run.keys) mergedGroup.keys.add(key);
    groups = groups.filter((group) => group === mergedGroup || !relatedGroups.includes(group));
  }
  return groups.map((group) => group.runs);
}
