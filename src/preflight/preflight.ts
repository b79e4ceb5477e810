/** What can be known of a run before it costs anything. What `assemble` refuses is not repeated here. */
import { basename, extname } from 'node:path';
import { type Config, isLanguageModel } from '../config/config.js';
import { environmentName } from '../environments/catalogue/facts.js';
import { bestReturn } from '../environments/catalogue/known-bounds.js';
import { environmentIds, isBuiltInId } from '../environments/catalogue/open.js';
import type { Assembly } from '../experiment/assemble.js';
import { ledgerOf } from '../experiment/parts.js';
import type { ModelContext } from '../models/language-model.js';
import type { PolicyDescription } from '../policies/policy.js';
import type { LimitName } from '../runs/events.js';
import { type Finding, found } from './findings.js';
import { policyFindings } from './policy-checks.js';
import { forecastPrompts, type PromptForecast } from './prompt-forecast.js';
import { estimateRun } from './run-estimate.js';

/**
 * Findings of an assembled config, those in order included.
 * @param context what the model takes; undefined where that is not known
 */
export function preflight(assembly: Assembly, context: ModelContext | undefined): readonly Finding[] {
  const forecast = forecastPrompts(assembly, context?.count);
  return [
    ...specFindings(assembly),
    ...policyFindings(assembly.config.policy, assembly.environment, assembly.family),
    ...boundFindings(assembly),
    ...racingFindings(assembly),
    ...promptFindings(assembly, forecast),
    ...(isLanguageModel(assembly.config.model) ? lengthFindings(assembly, forecast, context?.tokens) : []),
    ...limitFindings(assembly, forecast),
    estimateRun(assembly, forecast),
  ];
}

function shapeOf(policy: PolicyDescription): string {
  switch (policy.kind) {
    case 'linear':
      return `${policy.observations} observations${policy.bias ? ' and a bias' : ''} × ${policy.outputs} outputs${policy.projection ? ', in a random subspace' : ''}`;
    case 'q-table':
      return `${policy.states} states, ${policy.actions.length} actions, form ${policy.form}`;
    case 'module':
      return policy.name;
  }
}

function specFindings({ config, environment, family, prompts }: Assembly): readonly Finding[] {
  const { parameters, description } = family;
  const { count, low, high } = parameters;
  return [
    found('environment', environment.id),
    found(
      'policy',
      `${description.kind}, ${count} parameters from ${low} to ${high}: ${shapeOf(description)}`,
    ),
    found(
      'prompts',
      `${config.prompts.set}, templates and description (${prompts.description.length} characters) are complete`,
    ),
  ];
}

/** The share by which a stated number may pass a bound: it was rounded. */
const rounding = 0.01;

function boundFindings({ config, environment }: Assembly): readonly Finding[] {
  const { maxSteps } = config.evaluation;
  const steps = Math.min(environment.maxSteps ?? maxSteps, maxSteps);
  const bound = config.evaluation.reward === undefined ? bestReturn(config.environment, steps) : undefined;
  if (bound === undefined) return [];
  const { value, because } = bound;
  const beyond = (stated: number) => stated > value + rounding * Math.abs(value);
  const { optimum } = config.prompts;
  const best = `${Number(value.toPrecision(4))} (${because})`;
  const findings: Finding[] = [];
  if (optimum !== undefined && beyond(optimum)) {
    findings.push({
      level: 'warning',
      field: 'prompts.optimum',
      value: optimum,
      message: `the model is told of a return that ${environment.id} can't give: the best there is lies at ${best}`,
      remedy: `prompts.optimum=${Number(value.toPrecision(3))}, or prompts.optimum= to say nothing`,
    });
  } else if (optimum !== undefined)
    findings.push(found('prompts.optimum', `${optimum}; the bound is ${best}`));
  if (config.target !== undefined && beyond(config.target.return)) {
    findings.push({
      level: 'warning',
      field: 'target.return',
      value: config.target.return,
      message: `is out of reach but for luck: the best mean return of ${environment.id} lies at ${best}`,
      remedy: `target.return=${Number(value.toPrecision(3))} or lower, or target= for none`,
    });
  }
  return findings;
}

/** What it saves depends on the policies, so the whole is said. */
function racingFindings({ config, imported, racing }: Assembly): readonly Finding[] {
  if (racing === undefined) return [];
  const { candidates, evaluation, iterations, repeats, warmup } = config;
  const evaluations = (warmup.policies + imported.length + iterations * candidates) * repeats;
  const { block, confidence, highest } = racing;
  const lost =
    confidence === 1
      ? 'only what can no longer reach the best is cut short'
      : `at most ${Number((100 * (1 - confidence)).toPrecision(3))} % of what would reach the best is cut short`;
  return [
    found(
      'evaluation.racing',
      `up to ${evaluations * evaluation.episodes} episodes (${evaluations} evaluations of ${block} to ${evaluation.episodes}); no episode returns more than ${Number(highest.toPrecision(6))}, and ${lost}`,
    ),
  ];
}

function promptFindings(assembly: Assembly, { longest, room }: PromptForecast): readonly Finding[] {
  const { config, environment, family } = assembly;
  const { count } = family.parameters;
  const text = longest.messages
    .filter(({ role }) => role !== 'assistant')
    .map(({ content }) => content)
    .join('\n');
  const findings: Finding[] = [];
  const named = [...text.matchAll(/params\[(\d+)\]/g)].map(([, index]) => Number(index));
  const strange = named.filter((index) => index >= count).sort((a, b) => b - a)[0];
  if (strange !== undefined) {
    findings.push({
      level: 'warning',
      field: 'prompts.set',
      value: config.prompts.set,
      message: `the prompt speaks of params[${strange}], but the policy has ${count} parameters (0 to ${count - 1})`,
      remedy: 'write the number with {{parameters.count}} or {{parameters.lastIndex}}',
    });
  }
  if (named.length === 0 && !/"params"/.test(text)) {
    findings.push({
      level: 'warning',
      field: 'prompts.set',
      value: config.prompts.set,
      message:
        'the prompt never shows how parameters are written (params[0]: …): replies will hardly be understood',
      remedy: 'include the partial {{> answer-format}}',
    });
  }
  const { best, recent } = config.memory;
  const showsNothing = best === 0 && recent === 0;
  if (!showsNothing && room < 2) {
    findings.push({
      level: 'warning',
      field: 'memory.tokens',
      value: config.memory.tokens,
      message: `holds ${room === 0 ? 'not even one evaluation' : 'one evaluation only'} of ${count} parameters: a prompt shows the last one alone`,
      remedy: 'raise memory.tokens, or use fewer parameters (policy.projection, fewer bins)',
    });
  }
  return [
    ...findings,
    ...descriptionFindings(config.prompts.description, environment.id),
    ...rewardFindings(config),
  ];
}

/** A description of a built-in environment tells of its own rewards. */
function rewardFindings({ environment: { id }, evaluation, model, prompts }: Config): readonly Finding[] {
  const told =
    isLanguageModel(model) &&
    isBuiltInId(id) &&
    prompts.set !== 'numeric' &&
    prompts.description === undefined;
  if (evaluation.reward === undefined || !told) return [];
  return [
    {
      level: 'warning',
      field: 'evaluation.reward',
      value: evaluation.reward,
      message: `replaces the rewards that the description of ${id} tells the model of`,
      remedy: 'describe the task and its rewards in a template of your own, with prompts.description',
    },
  ];
}

/** A description that bears the name of another environment. */
function descriptionFindings(file: string | undefined, id: string): readonly Finding[] {
  if (file === undefined) return [];
  const named = basename(file, extname(file));
  const other = environmentIds().find((known) => environmentName(known) === environmentName(named));
  if (other === undefined || environmentName(other) === environmentName(id)) return [];
  return [
    {
      level: 'warning',
      field: 'prompts.description',
      value: file,
      message: `seems to describe ${other}, but the environment is ${id}`,
      remedy:
        'name the description of this environment, or leave prompts.description out for the built-in one',
    },
  ];
}

function lengthFindings(
  { config: { limits, model, target }, family }: Assembly,
  { answer, longest }: PromptForecast,
  contextTokens: number | undefined,
): readonly Finding[] {
  const findings: Finding[] = [];
  const maxTokens = 'maxTokens' in model ? model.maxTokens : undefined;
  const { count } = family.parameters;
  if (maxTokens !== undefined && answer.most > maxTokens) {
    const never = answer.fewest > maxTokens;
    findings.push({
      level: never ? 'error' : 'warning',
      field: 'model.maxTokens',
      value: maxTokens,
      message: `an answer of ${count} parameters ${never ? `takes at least ${answer.fewest}` : `may take about ${answer.most}`} tokens, and would be cut`,
      remedy: `model.maxTokens=${2 * answer.most}, or fewer parameters`,
    });
  }
  if (contextTokens === undefined) {
    const unknown = `the model's context is not known; the longest prompt takes about ${longest.tokens.most} tokens`;
    return [...findings, found('context', unknown)];
  }
  const reply = Math.min(maxTokens ?? answer.most, answer.most);
  const [plain, corrected] = [longest.tokens.most + reply, longest.corrected + reply];
  if (corrected <= contextTokens) {
    const text = `the longest prompt and its answer take about ${corrected} of ${contextTokens} tokens`;
    return [...findings, found('context', text)];
  }
  const fewest = longest.tokens.fewest + Math.min(answer.fewest, reply);
  // Unless it ends before its prompts are that long.
  const mayEnd = target !== undefined || Object.keys(limits).length > 0;
  const never = fewest > contextTokens && !mayEnd;
  const length = never
    ? `take at least ${fewest} tokens`
    : `may take ${plain} tokens, ${corrected} with all corrections`;
  return [
    ...findings,
    {
      level: never ? 'error' : 'warning',
      field: 'memory.tokens',
      message: `the longest prompt and its answer ${length}, but the model's context has ${contextTokens}`,
      remedy:
        'show less (memory.tokens, memory.best, memory.recent), allow fewer corrections or turns, or use a model with a longer context',
    },
  ];
}

function limitFindings(assembly: Assembly, { first }: PromptForecast): readonly Finding[] {
  const reservation = ledgerOf(assembly).reserve([first]);
  if (reservation.kind === 'granted') return [];
  return [
    {
      level: 'error',
      field: `limits.${reservation.limit}`,
      value: valueAt(assembly.config.limits, reservation.limit),
      message: 'the first call alone could pass this limit: the run would end before it began',
      remedy: `raise limits.${reservation.limit}${reservation.limit.endsWith('calls') ? '' : ', or lower model.maxTokens'}`,
    },
  ];
}

function valueAt(limits: object, name: LimitName): unknown {
  return name.split('.').reduce<unknown>((section, key) => (section as Record<string, unknown>)[key], limits);
}
