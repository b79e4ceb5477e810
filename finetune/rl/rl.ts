/** `finetune rl` for a language model, as an agent or as a proposer. */
import type { CommandContext } from '../../src/base/context.js';
import { formatNumber, plural } from '../../src/base/text/numbers.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { shownModelPath } from '../../src/models/local/settings.js';
import { mean } from '../../src/statistics/descriptive.js';
import { type DatasetLineage, playedLineage } from '../dataset/lineage.js';
import { guardMemory } from '../engine/training-session.js';
import { policyChecks } from '../train/alarms.js';
import type { Metric } from '../train/events.js';
import type { TrainingHooks } from '../train/loop.js';
import { methodFacts, writeResult } from '../train/method.js';
import { runTraining, type TrainingArguments, type TrainingResult } from '../train/session.js';
import { modelParameters, openLearning, type PlannedLearning, planLearning } from './assemble.js';
import { learnOnline, type OnlineOutcome } from './online.js';
import { environmentShares, type LearningConfig, loadLearningConfig, termsOf, usageOf } from './rl-config.js';

/** Starts or resumes training. Returns the exit code. */
export async function runRl(args: TrainingArguments, context: CommandContext): Promise<number> {
  const config = loadLearningConfig(args.config, args.overrides, context.cwd, context.note);
  requireRuntime();
  const plan = planLearning(config, context.env);
  const terms = termsOf(config);
  return runTraining<OnlineOutcome & TrainingResult>(
    {
      command: 'rl',
      output: config.output,
      unit: 'update',
      about: { ...methodFacts(config.method), model: config.model, config, dataset: datasetOf(config, 0) },
      checks: policyChecks(config.objective.kind !== 'ppo'),
      figures: ({ policyReturn, reward = Number.NaN }) => [
        // Mean ranks hardly change, and improvements depend on earlier policies; the policies' return shows progress.
        `return ${formatNumber(terms.relative && policyReturn !== undefined ? policyReturn : reward, 3)}`,
      ],
      line: (metric) => lineOf(metric, terms),
      limits: config.limits,
      train: (hooks) => learn(plan, hooks, context.milliseconds),
      dataset: ({ step }) => datasetOf(config, step),
      summary: ({ best, confirmed, last }) => ({
        meanReward: last?.meanReward ?? null,
        ...(last?.policyReturn !== undefined && { policyReturn: last.policyReturn }),
        best: best ?? null,
        confirmed: confirmed ?? null,
      }),
      extraLines: ({ ended, step }) =>
        config.result === 'last' && ended !== 'interrupted'
          ? [`weights    from update ${step}, the last one (result=last)`]
          : [],
      use: (result) => usageOf(config, shownModelPath(config.model, context.cwd), result),
    },
    args,
    context,
  );
}

async function learn(
  plan: PlannedLearning,
  hooks: TrainingHooks,
  milliseconds: () => number,
): Promise<OnlineOutcome & TrainingResult> {
  const { config, decoder, method } = plan;
  const allHooks = { ...hooks, measured: termsOf(config).measured, milliseconds };
  const learning = await guardMemory('loading the model', () => openLearning(plan, allHooks));
  try {
    const outcome = await guardMemory('learning', () => learnOnline(learning, allHooks));
    const { chosenEvaluation, ended } = outcome;
    const lowest = chosenEvaluation && { step: chosenEvaluation.step, loss: -chosenEvaluation.meanReward };
    if (ended === 'interrupted') return { ...outcome, lowest, result: undefined };
    const parameters = modelParameters(decoder, learning.trainable, outcome.parameters);
    return { ...outcome, lowest, result: await writeResult({ ...config, method }, parameters) };
  } finally {
    await learning.close();
  }
}

function datasetOf(config: LearningConfig, step: number): DatasetLineage {
  const { groups, groupSize, model, seed } = config;
  const shares = [...environmentShares(config)];
  const counts = shares.map(([id, share]) => [id, Math.round(step * groups * groupSize * share)] as const);
  const environments = shares.map(([id]) => id).join(', ');
  return playedLineage(environments, model, seed, Object.fromEntries(counts));
}

function lineOf(metric: Metric, terms: ReturnType<typeof termsOf>): string | undefined {
  const { counted, measured, sampled } = terms;
  switch (metric.kind) {
    case 'start':
      return `${plural(metric.totalSteps, 'update')} of ${plural(metric.episodes ?? 0, sampled)}`;
    case 'evaluation':
      return `update ${metric.step}  ${measured} ${formatNumber(metric.meanReward, 4)} ± ${formatNumber(metric.margin ?? 0, 2)} over ${plural(metric.episodes, `held-out ${counted}`)}${metric.policyReturn === undefined ? '' : `, mean return of the proposed policies ${formatNumber(metric.policyReturn, 4)}`}${metric.best ? ', the best so far' : ''}`;
    case 'final':
      return `confirmed  ${measured} ${formatNumber(mean(metric.returns), 4)} over ${plural(metric.returns.length, `fresh ${counted}`)}`;
    case 'baseline':
      return `${metric.label}: mean best return per run ${formatNumber(metric.bestReturn ?? Number.NaN, 4)}`;
    default:
      return undefined;
  }
}
