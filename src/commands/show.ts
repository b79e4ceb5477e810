import { styleText } from 'node:util';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../command.js';
import { type CommandContext, requireCount } from '../context.js';
import { bestEntries } from '../experiment/stages.js';
import { formatDuration, formatInterval, formatParameter, formatReturn } from '../format/numbers.js';
import { number, terminalTable, text } from '../format/table.js';
import { linearWeights, type PolicyDescription, type PolicyFamily } from '../policies/policy.js';
import { formatParameters } from '../prompting/answer/format.js';
import { sparkline } from '../report/charts/sparkline.js';
import { racingTotals } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/events.js';
import { factsOf, resultOf } from '../runs/facts.js';
import { openRun } from '../runs/open-run.js';
import { formatCaps, formatFaults, formatUsage, racingText } from '../runs/usage-text.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .option('runs-dir', common.runsDir)
    .option('top', { ...kinds.number, default: 10, describe: 'Evaluations in the table' })
    .option('json', common.json)
    .example('$0 show cartpole', 'a run below buffers/, by its name')
    .example('$0 show buffers/cartpole --top 3 --json', 'for scripts');

type Args = Arguments<typeof options>;

/** Of weights that are no parameters: these have decimals of their own. */
const weightDecimals = 3;

/** `policyloop show <run>`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireCount('--top', args.top, 1);
  const { path, config, manifest, family, recorded } = await openRun(args, context);
  const facts = factsOf(path, manifest);
  const result = resultOf(facts, context.cwd);
  const best = bestEntries(recorded.entries, args.top);
  const racing = config.evaluation.racing && racingTotals(recorded.entries);
  const failures = countFailures(recorded.calls);
  if (args.json) {
    const { description } = family;
    const projected = description.kind === 'linear' && description.projection !== undefined;
    const top = best.map(({ iteration, candidate, score, parameters }) => ({
      iteration,
      candidate,
      return: score,
      parameters,
      ...(projected && { weights: linearWeights(description, parameters) }),
    }));
    context.print(
      JSON.stringify({
        ...result,
        environment: manifest.environment,
        model: manifest.model,
        seed: manifest.seed,
        ...(racing && { racing }),
        top,
        failures,
      }),
    );
    return 0;
  }
  const { confirmed } = result;
  const heading = `${manifest.run}  ${manifest.environment}  ${manifest.model}  seed ${manifest.seed}`;
  const scores = recorded.entries.map(({ score }) => score);
  context.print(
    [
      styleText('bold', heading),
      `${facts.ended}, ${result.iterations} of ${manifest.iterations.of} iterations, ${recorded.entries.length} evaluations, ${formatDuration(manifest.activeMs)}`,
      '',
      ...(scores.length > 0
        ? [
            `${sparkline(scores, 60)}  ${formatReturn(Math.min(...scores))} … ${formatReturn(Math.max(...scores))}`,
            '',
          ]
        : []),
      bestTable(best),
      '',
      confirmed === null
        ? 'not confirmed on untouched seeds'
        : `confirmed ${formatReturn(confirmed.mean)}, 95 % interval ${formatInterval(confirmed.ci95)}, ${confirmed.episodes} untouched episodes (iteration ${confirmed.iteration})`,
      '',
      ...describePolicy(family, (confirmed ?? result.best)?.parameters),
      '',
      ...(racing ? [`raced     ${racingText(racing)}`] : []),
      `usage     ${formatUsage(result.usage)}`,
      ...(result.caps ? [`limits    ${formatCaps(result.caps)}`] : []),
      ...(result.usage.faults ? [`faults    ${formatFaults(result.usage.faults)}`] : []),
      `rejected  ${describeFailures(failures)}`,
      `report    ${result.report}`,
    ].join('\n'),
  );
  return 0;
}

function bestTable(best: ReturnType<typeof bestEntries>): string {
  return terminalTable(best, [
    number('rank', (entry) => best.indexOf(entry) + 1),
    number('mean return', ({ score }) => score, { format: formatReturn }),
    number('min', ({ returns }) => Math.min(...returns), { format: formatReturn }),
    number('max', ({ returns }) => Math.max(...returns), { format: formatReturn }),
    number('iteration', ({ iteration }) => iteration || 'warm-up'),
    number('candidate', ({ candidate }) => candidate + 1),
  ]);
}

/** Replies that could not be used, by kind. */
function countFailures(calls: readonly CallRecord[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { outcome } of calls) {
    if (outcome.kind === 'accepted') continue;
    const kind = outcome.kind === 'rejected' ? outcome.failure.kind : outcome.error;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function describeFailures(failures: Readonly<Record<string, number>>): string {
  const kinds = Object.entries(failures).toSorted(([, a], [, b]) => b - a);
  return kinds.length === 0 ? 'no reply' : kinds.map(([kind, count]) => `${count} × ${kind}`).join(', ');
}

function describePolicy(family: PolicyFamily, parameters: readonly number[] | undefined): readonly string[] {
  if (parameters === undefined) return ['no policy yet'];
  const { description } = family;
  return [styleText('bold', 'best policy'), ...policyLines(description, family, parameters)];
}

function policyLines(
  description: PolicyDescription,
  family: PolicyFamily,
  parameters: readonly number[],
): readonly string[] {
  if (description.kind !== 'linear') {
    const text = formatParameters(parameters, family.parameters);
    return [text.length > 2000 ? `${text.slice(0, 1999)}…` : text];
  }
  const { observations, outputs, bias, discrete, firstAction, projection } = description;
  const weights = linearWeights(description, parameters);
  const decimals = projection === undefined ? family.parameters.decimals : weightDecimals;
  const outputColumns = Array.from({ length: outputs }, (_, a) => ({
    title: discrete ? `action ${a + firstAction}` : `action[${a}]`,
    kind: 'number' as const,
    cell: (row: number) => formatParameter(weights[row * outputs + a]!.toFixed(decimals)),
  }));
  const table = terminalTable<number>(
    Array.from({ length: observations + (bias ? 1 : 0) }, (_, row) => row),
    [text('', (row) => (row < observations ? `observation[${row}]` : 'bias')), ...outputColumns],
  );
  if (projection === undefined) return [table];
  return [
    formatParameters(parameters, family.parameters),
    '',
    `${weights.length} weights in a random subspace of rank ${projection.rank} (seed ${projection.seed}) follow from them:`,
    table,
  ];
}
