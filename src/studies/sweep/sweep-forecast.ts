/** Estimates calls, tokens, cost and time of a sweep without calling a model. */

import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { CommandContext } from '../../base/context.js';
import { formatProblem, UserError } from '../../base/errors.js';
import type { Config } from '../../config/config.js';
import { budgetOf } from '../../config/critic.js';
import { languageModelOf } from '../../config/model.js';
import { type Assembly, assemble, closeEnvironment } from '../../experiment/assemble.js';
import { formatCompact, formatCost, formatCount, formatDuration, plural } from '../../format/numbers.js';
import { warningText } from '../../format/progress.js';
import { fitted } from '../../format/width.js';
import { contextsOf } from '../../preflight/ask-model.js';
import { errorsIn, warningsIn } from '../../preflight/findings.js';
import { standIns } from '../../preflight/left-out.js';
import { preflight } from '../../preflight/preflight.js';
import { evaluationSeeds, warmupGenerator } from '../../random/seeds.js';
import { measure } from '../../rollout/evaluation.js';
import { listRuns } from '../../runs/listing/listing.js';
import { sum } from '../../statistics/descriptive.js';
import { isComplete } from '../plan.js';
import { mostRuns } from './halving.js';
import { labelOf } from './settings.js';
import { runsOf, type Sweep, sweepPlace } from './sweep-plan.js';

/** `most`: with all corrections, and with episodes of maximum length. */
interface Amount {
  readonly expected: number;
  readonly most: number;
}

/** Estimates for a run or for the whole sweep. */
interface Forecast {
  readonly calls: Amount;
  readonly tokens: Amount;
  /** Absent if the model has no price. */
  readonly cost?: Amount;
  /** Milliseconds to play all episodes in one thread, without calls; undefined if rewards come from a user's module. */
  readonly playMs: Amount | undefined;
}

export interface SweepPlaceArguments {
  readonly jobs?: number | undefined;
  /** Directory of the sweep (default: one below `runsDir`). */
  readonly out?: string | undefined;
  readonly runsDir: string;
}

/** Output of `--dry-run --json`. */
export interface SweepForecast {
  readonly settings: number;
  readonly seeds: number;
  readonly runs: number;
  /** Number of runs that are already complete; the estimates exclude them. */
  readonly complete: number;
  readonly calls: Amount;
  readonly tokens: Amount;
  readonly cost?: Amount;
  /** Null if rewards come from a module, because a dry run doesn't import it. */
  readonly playSeconds: Amount | null;
  /** Null if there are no earlier calls to estimate from. */
  readonly modelSeconds: Amount | null;
  /** The limit that is expected to end the sweep, e.g. `total.calls`; absent if none is. */
  readonly limit?: string;
  readonly plan: readonly { readonly name: string; readonly values: Readonly<Record<string, string>> }[];
}

const none: Amount = { expected: 0, most: 0 };
const plus = (a: Amount, b: Amount): Amount => ({ expected: a.expected + b.expected, most: a.most + b.most });
const times = ({ expected, most }: Amount, factor: number): Amount => ({
  expected: factor * expected,
  most: factor * most,
});

const rounded = ({ expected, most }: Amount): Amount => ({
  expected: Math.round(expected),
  most: Math.round(most),
});

/** A forecast with the figures on which it is based. */
interface SweepPrediction {
  readonly forecast: SweepForecast;
  /** Number of concurrent runs. */
  readonly atOnce: number;
  readonly threads: number;
  /** Mean duration of earlier calls; undefined if there were none. */
  readonly perCall: { readonly seconds: number; readonly calls: number } | undefined;
}

/** @throws UserError if any setting can't succeed */
async function forecastSweep(
  sweep: Sweep,
  { jobs = 1, out, runsDir }: SweepPlaceArguments,
  context: CommandContext,
): Promise<SweepPrediction> {
  const { how, seeds, settings } = sweep;
  const one: Forecast[] = [];
  const said = new Set<string>();
  const models = new Set<string>();
  for (const { config } of settings) {
    const assembly = await assemble(config, context.env, undefined, standIns(config));
    try {
      one.push(await forecastOf(assembly, said, context));
      models.add(assembly.model.id);
    } finally {
      await closeEnvironment(assembly);
    }
  }
  const runs =
    how.method === 'halving' ? mostRuns(how, settings.length, seeds.length) : settings.length * seeds.length;
  // It isn't known which settings halving will drop, so every run counts as average.
  const each = runs / settings.length;
  const total = (of: (forecast: Forecast) => Amount) => times(one.map(of).reduce(plus, none), each);
  const isPriced = one.some(({ cost }) => cost !== undefined);
  const shared = how.limits;
  const { directory } = sweepPlace(sweep, { cwd: context.cwd, out, runsDir });
  const all = runsOf(sweep, settings, 0, seeds.length);
  const complete = all.filter(({ path }) => isComplete(join(directory, path))).length;
  const isTimed = one.every(({ playMs }) => playMs !== undefined);
  const { limit, ...left } = leftOf(
    1 - Math.min(1, complete / runs),
    within(shared, {
      calls: total((forecast) => forecast.calls),
      tokens: total(({ tokens }) => tokens),
      ...(isPriced && { cost: total(({ cost = none }) => cost) }),
      playMs: isTimed ? total(({ playMs = none }) => playMs) : undefined,
    }),
  );
  const calls = rounded(left.calls);
  const perCall = secondsPerCall(models, resolve(context.cwd, runsDir));
  const atOnce = Math.min(jobs, runs);
  // Runs that share limits are executed in one thread but wait for the model concurrently.
  const threads = shared === undefined ? Math.min(atOnce, availableParallelism()) : 1;
  const asked = perCall === undefined ? null : times(calls, perCall.seconds / atOnce);
  const forecast = {
    settings: settings.length,
    seeds: seeds.length,
    ...{ runs, complete, calls },
    tokens: rounded(left.tokens),
    ...(left.cost && { cost: left.cost }),
    playSeconds: left.playMs === undefined ? null : times(left.playMs, 1 / threads / 1000),
    modelSeconds: calls.most === 0 ? none : asked,
    ...(limit && { limit }),
    plan: settings.map(({ name, values }) => ({ name, values })),
  };
  return { forecast, atOnce, threads, perCall };
}

async function forecastOf(assembly: Assembly, said: Set<string>, context: CommandContext): Promise<Forecast> {
  const findings = preflight(assembly, await contextsOf(assembly, false, context.stop.finish));
  const errors = errorsIn(findings);
  if (errors.length > 0) throw new UserError(errors);
  for (const warning of warningsIn(findings)) {
    const text = warningText(formatProblem(warning));
    if (!said.has(text)) context.note(text);
    said.add(text);
  }
  const { repeats } = assembly.config;
  const found = findings.flatMap((finding) => ('estimate' in finding ? [finding.estimate] : []))[0] as
    | {
        readonly calls: Amount;
        readonly promptTokens: Amount;
        readonly completionTokens: Amount;
        readonly cost?: Amount;
      }
    | undefined;
  const playMs = await playTime(assembly, context);
  if (found === undefined || languageModelOf(assembly.config.model) === undefined)
    return { calls: none, tokens: none, playMs };
  const share = 1 / repeats;
  const { limit: _, ...run } = within(assembly.config.limits, {
    calls: times(found.calls, share),
    tokens: times(plus(found.promptTokens, found.completionTokens), share),
    ...(found.cost && { cost: times(found.cost, share) }),
    playMs,
  });
  return run;
}

/** Scales a forecast to the share of it that remains. */
const leftOf = <F extends Forecast>(share: number, forecast: F): F => ({
  ...forecast,
  calls: times(forecast.calls, share),
  tokens: times(forecast.tokens, share),
  ...(forecast.cost && { cost: times(forecast.cost, share) }),
  playMs: forecast.playMs && times(forecast.playMs, share),
});

/** Scales a forecast down to its limits; the first limit reached ends everything. */
function within(
  limits: { readonly [key in 'calls' | 'tokens' | 'cost']?: number | undefined } | undefined,
  forecast: Forecast,
): Forecast & { readonly limit?: string } {
  const caps = (['calls', 'tokens', 'cost'] as const).flatMap((key) => {
    const cap = limits?.[key];
    const expected = forecast[key]?.expected ?? 0;
    return cap === undefined ? [] : [{ key, share: expected > cap ? cap / expected : 1 }];
  });
  const [first] = caps.toSorted((a, b) => a.share - b.share);
  if (first === undefined) return forecast;
  const { share } = first;
  const capped = (key: 'calls' | 'tokens' | 'cost', { expected, most }: Amount): Amount => ({
    expected: share * expected,
    most: Math.min(most, limits?.[key] ?? Number.POSITIVE_INFINITY),
  });
  const { calls, cost, playMs, tokens } = forecast;
  return {
    calls: capped('calls', calls),
    tokens: capped('tokens', tokens),
    ...(cost && { cost: capped('cost', cost) }),
    playMs: playMs && { ...playMs, expected: share * playMs.expected },
    ...(share < 1 && { limit: `total.${first.key}` }),
  };
}

/** Playing time of a run in milliseconds, measured with one random policy; `most` assumes full-length episodes. */
async function playTime(
  { config, environment, family }: Assembly,
  context: CommandContext,
): Promise<Amount | undefined> {
  if (config.evaluation.reward !== undefined) return undefined;
  const { maxSteps } = config.evaluation;
  const seeds = evaluationSeeds(config.seed, Math.min(5, config.evaluation.episodes));
  const setting = { environment, family, maxSteps, record: 'none' } as const;
  const place = { iteration: 0, group: 0, candidate: 0, source: 'warm-up' } as const;
  const started = context.milliseconds();
  const { entry } = await measure(
    setting,
    family.initial(warmupGenerator(config.seed)),
    seeds,
    place,
    context.stop.abort,
  );
  const spent = context.milliseconds() - started;
  const perEpisode = spent / seeds.length;
  const perStep = spent / Math.max(1, sum(entry.lengths));
  const episodes = episodesOf(config);
  const longest = Math.min(environment.maxSteps ?? maxSteps, maxSteps);
  return { expected: episodes * perEpisode, most: episodes * Math.max(perEpisode, perStep * longest) };
}

function episodesOf(config: Config): number {
  const { confirmation, evaluation, warmup } = config;
  const evaluations = budgetOf(config, warmup.policies);
  const confirmed = confirmation.candidates + (confirmation.candidates > 1 ? 1 : 0);
  return evaluations * evaluation.episodes + confirmed * confirmation.episodes;
}

/** Mean duration of calls in existing runs of these models; undefined if there were no calls. */
function secondsPerCall(
  models: ReadonlySet<string>,
  root: string,
): { readonly seconds: number; readonly calls: number } | undefined {
  const own = listRuns(root).runs.filter(({ manifest }) => models.has(manifest.model));
  const calls = sum(own.map(({ manifest }) => manifest.usage.calls));
  if (calls === 0) return undefined;
  return { seconds: sum(own.map(({ manifest }) => manifest.usage.latencyMs)) / calls / 1000, calls };
}

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
  const done = complete === 0 ? '' : `, ${formatCount(complete)} complete; the figures below exclude them`;
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
          `cost        ${cost ? span(cost, formatCost) : 'unknown: set model.price for an estimate'}`,
        ]),
    playSeconds === null
      ? 'play        unknown: rewards come from a module, which a dry run doesn’t import'
      : `play        ${span(playSeconds, formatSeconds)}, ${together}`,
    ...(calls.most === 0
      ? []
      : [
          modelSeconds === null
            ? 'model       unknown: no earlier calls of these models to estimate from'
            : `model       ${span(modelSeconds, formatSeconds)}, at ${perCall!.seconds.toFixed(1)} s per call, the mean of ${plural(perCall!.calls, 'earlier call')}`,
        ]),
    ...(limit === undefined ? [] : [`limit       limits.${limit} is expected to end the sweep early`]),
  ];
}

const span = (amount: Amount, format: (value: number) => string) =>
  `${format(amount.expected)} (${format(amount.most)} at most)`;

const formatSeconds = (seconds: number) => formatDuration(1000 * seconds);

function seedsText(seeds: readonly number[]): string {
  const shown = seeds.slice(0, 6).join(', ');
  return seeds.length > 6 ? `${shown}, …` : shown;
}
