import type { CommandContext } from '../../../src/base/context.js';
import { formatNumber, plural } from '../../../src/base/text/numbers.js';
import { requireRuntime } from '../../../src/models/local/engine/find-devices.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { playedLineage, type TrainingFacts } from '../../dataset/lineage.js';
import type { Metric } from '../../train/events.js';
import { runTraining, type TrainingArguments } from '../../train/session.js';
import { loadNumericConfig, type NumericConfig, policyText } from './numeric-config.js';
import { type NumericOutcome, trainNumeric } from './train-numeric.js';

export async function runNumeric(args: TrainingArguments, context: CommandContext): Promise<number> {
  const { note } = context;
  const config = loadNumericConfig(args.config, args.overrides, context.cwd, note);
  requireRuntime();
  return runTraining<NumericOutcome>(
    {
      command: 'rl',
      output: config.output,
      unit: 'update',
      about: factsOf(config),
      checks: [],
      figures: ({ episodes, reward = Number.NaN }) => [
        `return ${formatNumber(reward, 4)}`,
        plural(episodes ?? 0, 'episode'),
      ],
      line: lineOf,
      train: (hooks) => trainNumeric(config, { ...hooks, note }),
      dataset: ({ episodes }) => datasetOf(config, episodes),
      summary: ({ baselines, episodes, returns, steps }) => ({
        episodes,
        steps,
        meanReturn: returns === undefined ? null : mean(returns),
        baselines: Object.fromEntries(baselines.map((one) => [one.name, mean(one.returns)])),
      }),
      extraLines({ baselines, returns }) {
        const results = [...(returns === undefined ? [] : [{ name: 'this policy', returns }]), ...baselines];
        const scores = results.map((one) => `${one.name} ${formatNumber(mean(one.returns), 4)}`);
        return scores.length === 0 ? [] : [`returns    ${scores.join(', ')} (means over fresh episodes)`];
      },
    },
    args,
    context,
  );
}

function factsOf(config: NumericConfig): Omit<TrainingFacts, 'outcome'> {
  const { policy } = config;
  const method = policy.kind === 'mlp' ? 'scratch' : 'full';
  return { method, model: modelOf(policy), dataset: datasetOf(config, 0), config };
}

const modelOf = (policy: NumericConfig['policy']) =>
  policy.kind === 'transformer' ? policy.path : policyText(policy);

const datasetOf = ({ environment: { id }, policy, seed }: NumericConfig, episodeCount: number) =>
  playedLineage(id, modelOf(policy), seed, { [id]: episodeCount });

function lineOf(metric: Metric): string | undefined {
  if (metric.kind === 'evaluation')
    return `update ${metric.step}  mean return ${formatNumber(metric.meanReward, 4)}${metric.best ? ', the best so far' : ''}`;
  if (metric.kind === 'baseline')
    return `${metric.label}: mean return ${formatNumber(mean(metric.returns ?? []), 4)} after ${plural(metric.episodes, 'episode')}`;
  return undefined;
}
