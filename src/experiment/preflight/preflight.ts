/** Checks an assembled config before its run costs anything. `assemble` reports errors in the config's parts. */

import { basename, extname } from 'node:path';
import type { Problem } from '../../base/errors.js';
import { plural } from '../../base/text/numbers.js';
import type { Config } from '../../config/config.js';
import { languageMemberOf, languageModelOf, type SingleModelConfig } from '../../config/model.js';
import { placedIn } from '../../config/model-checks.js';
import { historyWithin } from '../../config/resolve.js';
import { environmentName } from '../../environments/catalogue/facts.js';
import { bestReturn } from '../../environments/catalogue/known-bounds.js';
import { environmentIds, isBuiltInId } from '../../environments/catalogue/open.js';
import type { ModelContext } from '../../models/language-model.js';
import { embeddedModel } from '../../models/local/settings.js';
import type { PolicyDescription } from '../../policies/policy.js';
import type { Assembly } from '../setup/assemble.js';
import { type Finding, found, warning } from './findings.js';
import { type PromptSize, promptSize } from './prompt-size.js';
import { estimateRun } from './run-estimate.js';
import { limitFindings, policyFindings } from './task-findings.js';

export function preflight(assembly: Assembly, context?: ModelContext): readonly Finding[] {
  const size = promptSize(assembly, context);
  const reader = languageModelOf(assembly.config.model);
  const findings = [
    ...specFindings(assembly),
    ...policyFindings(assembly.config.policy, assembly.environment, assembly.family),
    ...boundFindings(assembly),
    ...promptFindings(assembly, size),
    ...notationFindings(assembly.config),
    ...(reader !== undefined ? memoryFindings(assembly, size, context?.tokens) : []),
    ...(reader === undefined ? [] : lengthFindings(assembly, size, context?.tokens, reader)),
    ...thoughtFindings(reader, context?.thinks),
    ...(context?.warning === undefined ? [] : [warning({ field: 'model.name', message: context.warning })]),
    ...limitFindings(assembly, size),
    estimateRun(assembly, size),
  ];
  const { field } = languageMemberOf(assembly.config.model) ?? { field: 'model' };
  return findings.map((finding) => (finding.level === 'ok' ? finding : placedIn(finding, field)));
}

function shapeOf(policy: PolicyDescription): string {
  switch (policy.kind) {
    case 'linear':
      return `${plural(policy.observations, 'observation')}${policy.bias ? ' and a bias' : ''} × ${plural(policy.outputs, 'output')}${policy.projection ? ', in a random subspace' : ''}`;
    case 'mlp':
      return `${plural(policy.observations, 'observation')} → ${policy.hidden.join(' → ')} units (${policy.activation}) → ${plural(policy.outputs, 'output')}${policy.projection ? ', in a random subspace' : ''}`;
    case 'q-table':
      return `${policy.states} states, ${policy.actions.length} actions, form ${policy.form}`;
    case 'program':
      return 'JavaScript functions in a sandbox';
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
      description.kind === 'program'
        ? `program: ${shapeOf(description)}`
        : `${description.kind}, ${count} parameters from ${low} to ${high}: ${shapeOf(description)}`,
    ),
    found(
      'prompts',
      `${config.prompts.set}: the templates and the description (${prompts.description.length} characters) are complete`,
    ),
  ];
}

/** Relative tolerance for returns stated in a config, which may be rounded. */
const rounding = 0.01;

function boundFindings({ config, environment: { id, maxSteps } }: Assembly): readonly Finding[] {
  const { evaluation, prompts, target } = config;
  const steps = Math.min(maxSteps ?? evaluation.maxSteps, evaluation.maxSteps);
  const bound = evaluation.reward === undefined ? bestReturn(config.environment, steps) : undefined;
  if (bound === undefined) return [];
  const { value, because } = bound;
  const isBeyond = (stated: number) => stated > value + rounding * Math.abs(value);
  const best = `${Number(value.toPrecision(4))} (${because})`;
  const possible = Number(value.toPrecision(3));
  const { optimum } = prompts;
  const findings: Finding[] = [];
  if (optimum !== undefined && isBeyond(optimum)) {
    findings.push(
      warning({
        field: 'prompts.optimum',
        value: optimum,
        message: `the prompt states a mean return that ${id} can't reach: the upper bound is ${best}`,
        hint: `set prompts.optimum=${possible}, or omit it with prompts.optimum=`,
      }),
    );
  } else if (optimum !== undefined) {
    findings.push(found('prompts.optimum', `${optimum}; the upper bound is ${best}`));
  }
  if (target !== undefined && isBeyond(target.return)) {
    findings.push(
      warning({
        field: 'target.return',
        value: target.return,
        message: `exceeds the upper bound on the mean return of ${id}: ${best}`,
        hint: `set target.return=${possible} or lower, or remove the target with target=`,
      }),
    );
  }
  return findings;
}

function promptFindings(
  { config, environment, family }: Assembly,
  { first }: PromptSize,
): readonly Finding[] {
  const { count } = family.parameters;
  const arePrograms = family.description.kind === 'program';
  const { prompts } = config;
  const asked = first.messages.filter(({ role }) => role !== 'assistant');
  const text = asked.map(({ content }) => content).join('\n');
  const named = [...text.matchAll(/params\[(\d+)\]/g)].map(([, index]) => Number(index));
  const highest = named.reduce((most, index) => Math.max(most, index), -1);
  const problems = [
    !arePrograms &&
      highest >= count && {
        field: 'prompts.set',
        value: prompts.set,
        message: `the prompt mentions params[${highest}], but the policy has ${count} parameters (0 to ${count - 1})`,
        hint: 'use {{parameters.count}} or {{parameters.lastIndex}} instead of a number',
      },
    arePrograms
      ? !/```|^<{5,}/m.test(text) && {
          field: 'prompts.set',
          value: prompts.set,
          message: 'the prompt never shows how to write a program, so replies are likely to be rejected',
          hint: 'show the answer format in a code block, as prompts/programs/partials/program-answer.hbs does',
        }
      : named.length === 0 &&
        !/"params"/.test(text) && {
          field: 'prompts.set',
          value: prompts.set,
          message:
            'the prompt never shows how to write parameters (params[0]: …), so replies are likely to be rejected',
          hint: 'include the partial {{> answer-format}}',
        },
    descriptionProblem(prompts.description, environment.id),
    rewardProblem(config),
  ];
  return problems.filter((problem) => problem !== false && problem !== undefined).map(warning);
}

/** Warns about prompt sets with a number format that the embedded model doesn't understand. */
function notationFindings({ critic, model, prompts }: Config): readonly Finding[] {
  const reader = languageModelOf(model);
  const isEmbedded = (one: SingleModelConfig | undefined) =>
    one?.provider === 'local' && one.path === embeddedModel && one.adapter === undefined;
  const reviser = critic?.model ?? reader;
  const message = "can't be read by the embedded model, which only understands the prompt set compact";
  return [
    ...(isEmbedded(reader) && ['numeric', 'semantic'].includes(prompts.set)
      ? [
          warning({
            field: 'prompts.set',
            value: prompts.set,
            message,
            hint: 'set prompts.set=compact, or choose another model',
          }),
        ]
      : []),
    ...(critic?.prompts === 'critic' && isEmbedded(reviser)
      ? [
          warning({
            field: 'critic.prompts',
            value: critic.prompts,
            message,
            hint: 'set critic.model to another language model or a baseline such as hill-climb, or choose critic templates with the number format of compact',
          }),
        ]
      : []),
  ];
}

/** Reports a budget in which the last prompt can't show all the evaluations that it would select. */
function memoryFindings(
  { config, imported }: Assembly,
  { entry }: PromptSize,
  context: number | undefined,
): readonly Finding[] {
  const { candidates, iterations, memory, warmup } = config;
  const { best, recent, tokens } = memory;
  const last = warmup.policies + imported.length + (iterations - 1) * candidates;
  const wanted = best === undefined && recent === undefined ? last : (best ?? 0) + (recent ?? 0);
  const [room, shown] = [Math.floor(tokens / entry), Math.min(last, wanted)];
  if (room >= shown) return [];
  const enough = Math.ceil((shown * entry) / 1000) * 1000;
  const all = enough < (context ?? Number.POSITIVE_INFINITY) ? `set memory.tokens=${enough}, or ` : '';
  return [
    warning({
      field: 'memory.tokens',
      value: tokens,
      message: `fits about ${room} of the ${shown} evaluations that the last prompt would show; the oldest are hidden`,
      hint: `${all}choose which to show with memory.best and memory.recent`,
    }),
  ];
}

/** Reports the size of the first prompt, and prompts or answers that are too long. */
function lengthFindings(
  { config, family }: Assembly,
  { answer, first, last }: PromptSize,
  context: number | undefined,
  reader: SingleModelConfig,
): readonly Finding[] {
  const findings: Finding[] = [];
  const maxTokens = 'maxTokens' in reader ? reader.maxTokens : undefined;
  const { count } = family.parameters;
  if (maxTokens !== undefined && family.description.kind !== 'program' && count > maxTokens)
    findings.push({
      level: 'error',
      field: 'model.maxTokens',
      value: maxTokens,
      message: `an answer with ${plural(count, 'parameter')} takes at least ${count} tokens, so it would be truncated`,
      hint: `set model.maxTokens=${2 * answer}, or use fewer parameters`,
    });
  const room = context === undefined ? '' : ` of ${context}`;
  const longest = Math.round(last);
  if (context === undefined || last + answer <= context)
    return [
      ...findings,
      found(
        'context',
        `the first prompt takes about ${first.tokens}${room} tokens, the last about ${longest}`,
      ),
    ];
  // A target or a limit may end the run before prompts become that long.
  const mayEnd = config.target !== undefined || Object.keys(config.limits).length > 0;
  const fewest = mayEnd ? first.fewest : (last * first.fewest) / first.tokens;
  return [
    ...findings,
    {
      level: fewest > context ? 'error' : 'warning',
      field: 'memory.tokens',
      message: `the first prompt takes about ${first.tokens} tokens, the last about ${longest} and its answer ${answer}, but the model's context has only ${context}`,
      hint: `show less (memory.tokens=${historyWithin(context)}, memory.best, memory.recent), allow fewer corrections, or use a model with a longer context`,
    },
  ];
}

/** Reports a reward function that replaces the rewards explained by the environment's built-in description. */
function rewardProblem({ environment: { id }, evaluation, model, prompts }: Config): Problem | false {
  const isReported = languageModelOf(model) !== undefined && isBuiltInId(id) && prompts.set !== 'numeric';
  return (
    isReported &&
    prompts.description === undefined &&
    evaluation.reward !== undefined && {
      field: 'evaluation.reward',
      value: evaluation.reward,
      message: `replaces the rewards that the description of ${id} explains to the model`,
      hint: 'describe the task and its rewards in your own template (prompts.description)',
    }
  );
}

/** Reports a description whose file is named after another environment. */
function descriptionProblem(file: string | undefined, id: string): Problem | undefined {
  if (file === undefined) return undefined;
  const named = environmentName(basename(file, extname(file)));
  const other = environmentIds().find((known) => environmentName(known) === named);
  if (other === undefined || named === environmentName(id)) return undefined;
  return {
    field: 'prompts.description',
    value: file,
    message: `seems to describe ${other}, but the environment is ${id}`,
    hint: 'choose a description of this environment, or omit prompts.description to use the default one',
  };
}

/** Warns about reasoning models in Ollama with `format: json`: they may use `maxTokens` twice. */
function thoughtFindings(model: ReturnType<typeof languageModelOf>, thinks = false): readonly Finding[] {
  if (!thinks || model?.provider !== 'ollama' || model.format !== 'json' || model.think === false) return [];
  return [
    warning({
      field: 'model.think',
      value: model.think,
      message:
        'with format: json, reasoning and answer can each use up to model.maxTokens; Ollama counts only the answer, so reasoning tokens are estimated',
      hint: 'set model.think=false, or model.format=auto, which enforces no format on reasoning models',
    }),
  ];
}
