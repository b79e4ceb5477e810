/** Forecasts the cost of a sweep without calling a model. */
import type { CommandContext } from '../../base/context.js';
import { formatCompact, formatCost, formatCount, formatDuration, plural } from '../../format/numbers.js';
import { fitted } from '../../format/width.js';
import { labelOf } from './settings.js';
import {
  type Amount,
  forecastSweep,
  type SweepPlaceArguments,
  type SweepPrediction,
} from './sweep-forecast.js';
import type { Sweep } from './sweep-plan.js';

/** @throws UserError if any setting can't succeed */
export async function sweepDryRun(
  sweep: Sweep,
  args: SweepPlaceArguments & { readonly json: boolean },
  context: CommandContext,
): Promise<number> {
  const prediction = await forecastSweep(sweep, args, context);
  const text = () => fitted(linesOf(sweep, prediction).join('\n'), context.columns);
  context.print(args.json ? JSON.stringify(prediction.forecast) : text());
  return 0;
}

const mostShown = 12;

function linesOf(
  { how, seeds, settings }: Sweep,
  { atOnce, forecast, perCall, threads }: SweepPrediction,
): readonly string[] {
  const { calls, complete, cost, limit, modelSeconds, playSeconds, runs, tokens } = forecast;
  const shown = settings.slice(0, mostShown).map((setting) => `  ${setting.name}  ${labelOf(setting)}`);
  const done = complete === 0 ? '' : `, ${formatCount(complete)} complete; what follows is of the others`;
  const cores = threads === 1 ? ', in one thread' : `, on ${threads} cores`;
  const together = `${atOnce === 1 ? 'one run at a time' : `${atOnce} runs at once`}${threads < atOnce ? cores : ''}`;
  return [
    `${how.method}: ${plural(settings.length, 'setting')}, ${plural(seeds.length, 'seed')} (${seedsText(seeds)})`,
    ...shown,
    ...(settings.length > mostShown ? [`  … and ${settings.length - mostShown} more`] : []),
    '',
    `runs        ${formatCount(runs)}${how.method === 'halving' ? ' at most' : ''}${done}`,
    `calls       ${calls.most === 0 ? 'none' : span(calls, formatCount)}`,
    ...(calls.most === 0
      ? []
      : [
          `tokens      ${span(tokens, formatCompact)}`,
          `cost        ${cost ? span(cost, formatCost) : 'not known: model.price says what a token costs'}`,
        ]),
    playSeconds === null
      ? 'play        not known: a dry run imports no module but the environment’s, and rewards come from one'
      : `play        ${span(playSeconds, formatSeconds)}, ${together}`,
    ...(calls.most === 0
      ? []
      : [
          modelSeconds === null
            ? 'model       not known: no run of this model is here to tell how long it takes'
            : `model       ${span(modelSeconds, formatSeconds)}, at ${perCall!.seconds.toFixed(1)} s a call as in ${plural(perCall!.calls, 'call')} so far`,
        ]),
    ...(limit === undefined ? [] : [`limit       limits.${limit} ends the sweep before its last run`]),
  ];
}

const span = (amount: Amount, format: (value: number) => string) =>
  `${format(amount.expected)} (${format(amount.most)} at most)`;

const formatSeconds = (seconds: number) => formatDuration(1000 * seconds);

function seedsText(seeds: readonly number[]): string {
  const shown = seeds.slice(0, 6).join(', ');
  return seeds.length > 6 ? `${shown}, …` : shown;
}
