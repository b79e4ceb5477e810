import { shellWord } from '../../src/base/text/one-line.js';
import { programsOf } from '../../src/policies/policy.js';
import { largest } from '../../src/statistics/descriptive.js';
import { type RunRecipe, tutorialSizes } from './example.js';
import type { SourceRun } from './source-run.js';

/** Identifies a run's task: environment, reward and step limit. Scores in the same task are comparable. */
export const taskOf = ({ config: { environment, evaluation } }: SourceRun): string =>
  JSON.stringify([environment, evaluation.reward, evaluation.maxSteps]);

const emptyRunReasons: Readonly<Record<RunRecipe, string>> = {
  improvement: 'no proposal beat the best return in its prompt',
  weighted: 'no prompt contains an earlier evaluation',
  preference: 'no two replies to a prompt differ in score',
  repair: 'no failed program was followed by an accepted correction',
};

/** Explains why the recipe made no examples from the run. */
export function explainEmptyRun(recipe: RunRecipe, { recorded, steps }: SourceRun): string {
  const { calls, entries, iteration } = recorded;
  if (iteration === 0) return 'no complete iteration';
  if (!entries.some(({ source }) => source === 'proposal')) return 'no reply was accepted';
  if (steps.length === 0) return 'only revisions, tuned programs or proposals without a prompt';
  const isUnknown = steps.every(({ best }) => best === undefined) && ![...calls].some(({ shown }) => shown);
  return isUnknown && (recipe === 'improvement' || recipe === 'weighted')
    ? "it was logged by an earlier version, which didn't record what its prompts showed; run it again"
    : emptyRunReasons[recipe];
}

/** Suggests how to get the usual number of examples, assuming that further runs yield as many as these did. */
export function moreRunsHint(recipe: RunRecipe, runs: readonly SourceRun[], exampleCount: number): string {
  const count = runs.flatMap(({ steps }) => steps.flatMap((step) => step.proposals)).length;
  const otherTaskCount = new Set(runs.map(taskOf)).size - 1;
  const { family, name } = runs[0]!;
  const baselines = programsOf(family) === undefined ? ['hill-climb', 'cma-es', 'gp'] : ['random', 'genetic'];
  const perSeed = Math.max(1, exampleCount / runs.length) * baselines.length * (otherTaskCount + 1);
  const firstSeed = largest(runs.map(({ manifest }) => manifest.seed)) + 1;
  const lastSeed = firstSeed + Math.max(0, Math.ceil((tutorialSizes.least - exampleCount) / perSeed) - 1);
  return [
    recipe === 'improvement' && count > exampleCount ? `--recipe weighted uses all ${count} proposals; ` : '',
    `for more runs: policyloop sweep ${shellWord(`${name}/config.yaml`)} model.provider=${baselines.join(',')}`,
    ` seed=${firstSeed}..${lastSeed} --out buffers/more`,
    otherTaskCount > 0
      ? ` (and the same for the other ${otherTaskCount === 1 ? 'task' : `${otherTaskCount} tasks`})`
      : '',
  ].join('');
}
