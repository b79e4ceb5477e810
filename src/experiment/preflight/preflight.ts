/** Checks an assembled config before its run costs anything. `assemble` reports errors in the config's parts. */

import { valueAt } from '../../base/settings/schema.js';
import { plural } from '../../base/text/numbers.js';
import type { Config } from '../../config/config.js';
import {
  languageMemberOf,
  languageModelOf,
  modelIterations,
  type SingleModelConfig,
} from '../../config/model.js';
import { withFieldPrefix } from '../../config/model-checks.js';
import { historyBudget } from '../../config/resolve.js';
import { stagesOf } from '../../config/stages.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import type { ModelContext } from '../../models/language-model.js';
import { embeddedModelPath } from '../../models/local/settings.js';
import { limitField } from '../../runs/calls.js';
import type { Assembly } from '../setup/assemble.js';
import { ledgerOf } from '../setup/open-experiment.js';
import { type Finding, okFinding, warningFinding } from './findings.js';
import { type PromptSize, promptSize } from './prompt-size.js';
import { estimateRun, type RunEstimate } from './run-estimate.js';

type EstimatedFinding = Finding & { readonly estimate?: RunEstimate };
type MaybeFinding = EstimatedFinding | false | undefined;

export function preflight(assembly: Assembly, context?: ModelContext): readonly EstimatedFinding[] {
  const size = promptSize(assembly, context);
  const { config, environment } = assembly;
  const {
    description,
    parameters: { count, low, high },
  } = assembly.family;
  const modelConfig = languageModelOf(config.model);
  const { field } = languageMemberOf(config.model) ?? { field: 'model' };
  const findings: readonly MaybeFinding[] = [
    okFinding('environment', environment.id),
    okFinding(
      'policy',
      description.kind === 'program'
        ? 'program'
        : `${description.kind}, ${plural(count, 'parameter')} from ${low} to ${high}`,
    ),
    ...boundFindings(assembly),
    ...promptFindings(assembly, size),
    ...notationFindings(config),
    ...(modelConfig === undefined
      ? []
      : [
          hiddenHistoryFinding(assembly, size, context?.tokens),
          ...lengthFindings(assembly, size, context?.tokens, modelConfig),
        ]),
    context?.warning !== undefined && warningFinding({ field: 'model.name', message: context.warning }),
    ...limitFindings(assembly, size),
    estimateRun(assembly, size),
  ];
  return findings
    .filter((finding) => finding !== undefined && finding !== false)
    .map((finding) => (finding.level === 'ok' ? finding : withFieldPrefix(finding, field)));
}

/** Relative tolerance for returns stated in a config, which may be rounded. */
const tolerance = 0.01;

/** Compares the returns that a config states with the highest return of an episode, if it is known. */
function boundFindings({ config, environment: { id } }: Assembly): readonly MaybeFinding[] {
  const { evaluation, prompts, target } = config;
  const [, value] = returnRange(config.environment, evaluation);
  const best = String(Number(value.toPrecision(4)));
  const statedReturns = [
    ['prompts.optimum', prompts.optimum],
    ['target.return', target?.return],
  ] as const;
  return statedReturns.map(
    ([field, wanted]) =>
      wanted !== undefined &&
      wanted > value + tolerance * Math.abs(value) &&
      warningFinding({
        field,
        value: wanted,
        message: `exceeds ${best}, the highest possible return of an episode of ${id}`,
        hint: `set ${field}=${best} or lower, or remove it with ${field.replace('.return', '')}=`,
      }),
  );
}

/** Reports prompts that name parameters the policy lacks, or never show the form of an answer. */
function promptFindings({ config, family }: Assembly, { first }: PromptSize): readonly MaybeFinding[] {
  const { count } = family.parameters;
  const promptsField = { field: 'prompts.set', value: config.prompts.set };
  const askedMessages = first.messages.filter(({ role }) => role !== 'assistant');
  const text = askedMessages.map(({ content }) => content).join('\n');
  if (family.description.kind === 'program')
    return [
      !/```|^<{5,}/m.test(text) &&
        warningFinding({
          ...promptsField,
          message: 'the prompt never shows how to write a program, so replies are likely to be rejected',
          hint: 'show the answer format in a code block, as prompts/programs/partials/program-answer.hbs does',
        }),
    ];
  const namedIndices = [...text.matchAll(/params\[(\d+)\]/g)].map(([, index]) => Number(index));
  const highestIndex = namedIndices.reduce((most, index) => Math.max(most, index), -1);
  return [
    highestIndex >= count &&
      warningFinding({
        ...promptsField,
        message: `the prompt mentions params[${highestIndex}], but the last parameter of the policy is params[${count - 1}]`,
        hint: 'use {{parameters.count}} or {{parameters.lastIndex}} instead of a number',
      }),
    namedIndices.length === 0 &&
      !/"params"/.test(text) &&
      warningFinding({
        ...promptsField,
        message:
          'the prompt never shows how to write parameters (params[0]: …), so replies are likely to be rejected',
        hint: 'include the partial {{> answer-format}}',
      }),
  ];
}

/** Warns about built-in prompt sets that the embedded model doesn't understand. */
function notationFindings(config: Config): readonly MaybeFinding[] {
  const { model, prompts } = config;
  const isEmbedded = (section: SingleModelConfig | undefined) =>
    section?.provider === 'local' && section.path === embeddedModelPath && section.adapter === undefined;
  const modelConfig = languageModelOf(model);
  const sets = [
    ['prompts.set', prompts.set, modelConfig] as const,
    ...stagesOf(config).map(
      (stage) => [`${stage.name}.prompts`, stage.prompts, stage.model ?? modelConfig] as const,
    ),
  ];
  return sets.map(
    ([field, value, reader]) =>
      value !== 'compact' &&
      !/[\\/]/.test(value) &&
      isEmbedded(reader) &&
      warningFinding({
        field,
        value,
        message: "can't be read by the embedded model, which only understands the prompt set `compact`",
        hint: `${field === 'prompts.set' ? 'set prompts.set=compact, or ' : ''}choose another model`,
      }),
  );
}

/** Warns if `memory.tokens` is too small for all the evaluations that the last prompt would show. */
function hiddenHistoryFinding(
  { config, imported }: Assembly,
  { entryTokens, shownCount: maxShown }: PromptSize,
  contextTokens = Number.POSITIVE_INFINITY,
): MaybeFinding {
  const { candidates, memory, model, warmup } = config;
  const { count, first } = modelIterations(model, config);
  const evaluationCount = warmup.policies + imported.length + (first + count - 2) * candidates;
  const [room, shown] = [Math.floor(memory.tokens / entryTokens), Math.min(evaluationCount, maxShown)];
  const enoughTokens = Math.ceil((shown * entryTokens) / 1000) * 1000;
  return (
    room < shown &&
    warningFinding({
      field: 'memory.tokens',
      value: memory.tokens,
      message: `has room for about ${room} of the ${shown} evaluations that the last prompt would show; the oldest are hidden`,
      hint: `${enoughTokens < contextTokens ? `set memory.tokens=${enoughTokens}, or ` : ''}show fewer evaluations (memory.best, memory.recent)`,
    })
  );
}

/** Reports the sizes of the first and the last prompt, and prompts or replies that are too long. */
function lengthFindings(
  { config, family }: Assembly,
  { replyTokens, first, lastTokens }: PromptSize,
  contextTokens: number | undefined,
  modelConfig: SingleModelConfig,
): readonly MaybeFinding[] {
  const maxTokens = 'maxTokens' in modelConfig ? modelConfig.maxTokens : undefined;
  const { count } = family.parameters;
  const isTruncated = maxTokens !== undefined && family.description.kind !== 'program' && count > maxTokens;
  const roundedTokens = Math.round(lastTokens);
  const fits = contextTokens === undefined || lastTokens + replyTokens <= contextTokens;
  // A target or a limit may end the run before prompts become that long.
  const mayEnd = config.target !== undefined || Object.keys(config.limits).length > 0;
  const minTokens = mayEnd ? first.minTokens : (lastTokens * first.minTokens) / first.tokens;
  return [
    isTruncated && {
      level: 'error',
      field: 'model.maxTokens',
      value: maxTokens,
      message: `an answer with ${plural(count, 'parameter')} takes at least ${count} tokens, so it would be truncated`,
      hint: `set model.maxTokens=${2 * replyTokens}, or use fewer parameters`,
    },
    fits
      ? okFinding(
          'context',
          `the first prompt takes about ${first.tokens}${contextTokens === undefined ? '' : ` of ${contextTokens}`} tokens, the last about ${roundedTokens}`,
        )
      : {
          level: minTokens > contextTokens ? 'error' : 'warning',
          field: 'memory.tokens',
          message: `the first prompt takes about ${first.tokens} tokens, the last about ${roundedTokens} and its reply ${replyTokens}, but the model's context has only ${contextTokens}`,
          hint: `show less (memory.tokens=${historyBudget(contextTokens)} or fewer evaluations), allow fewer corrections, or use a model with a longer context`,
        },
  ];
}

/** Reports limits that would stop the run before its first proposal. */
function limitFindings(assembly: Assembly, { first }: PromptSize): readonly MaybeFinding[] {
  const { candidates, limits, warmup } = assembly.config;
  const warmupCount = warmup.policies + assembly.imported.length;
  const limitName = ledgerOf(assembly).reserve({ messages: first.messages, choices: 1 });
  return [
    limits.evaluations !== undefined &&
      limits.evaluations < warmupCount + candidates && {
        level: 'error',
        field: 'limits.evaluations',
        value: limits.evaluations,
        message: `the warm-up takes ${plural(warmupCount, 'evaluation')} and the first iteration ${candidates}, so the run would stop before its first iteration`,
        hint: `set limits.evaluations=${warmupCount + candidates} or higher`,
      },
    typeof limitName === 'string' && {
      level: 'error',
      field: limitField(limitName),
      value: valueAt(limitName.split('.'), limits),
      message: 'the first call could already exceed this limit, so the run would stop before it',
      hint: `raise ${limitField(limitName)}${limitName === 'calls' ? '' : ', or lower model.maxTokens'}`,
    },
  ];
}
