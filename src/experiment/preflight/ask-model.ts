import { append } from '../../base/append.js';
import type { CommandContext } from '../../base/context.js';
import { callSeed } from '../../base/random/seeds.js';
import { formatCount, formatDuration, plural } from '../../base/text/numbers.js';
import { languageMemberOf, languageModelOf, type SingleModelConfig } from '../../config/model.js';
import { type Completion, type LanguageModel, ModelError } from '../../models/language-model.js';
import { emptyReplyWarning } from '../../models/reply-faults.js';
import { encodingFor } from '../../prompting/notation/encoding.js';
import { answerFormOf, answerGrammar } from '../../prompting/notation/grammar.js';
import type { CallContext } from '../../proposers/call.js';
import { createModel } from '../../proposers/create-model.js';
import { languageModelProposer } from '../../proposers/language-model.js';
import { createReplayBuffer } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import { rejectionText } from '../../runs/failure-text.js';
import { programTitle } from '../../runs/program-text.js';
import { emptyRun } from '../../runs/reader.js';
import { Prompter } from '../prompter.js';
import { replyReaders } from '../propose.js';
import { type Assembly, languageModelsOf } from '../setup/assemble.js';
import { ledgerOf } from '../setup/open-experiment.js';
import { type Finding, okFinding, warningFinding } from './findings.js';
import { promptSize, syntheticWarmUp } from './prompt-size.js';

/**
 * Tells each model how long its prompts can become, so that servers load it only once, with enough context.
 * @param onFailure called with the error if a query for a model's context fails
 */
export async function reserveContext(
  assembly: Assembly,
  signal: AbortSignal | undefined,
  onFailure: (error: ModelError) => void,
): Promise<void> {
  for (const model of languageModelsOf(assembly)) {
    model.expect?.(promptSize(assembly).tokenBound);
    await model.context?.(signal).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error;
      onFailure(error);
    });
  }
}

type AskOptions = Pick<CallContext, 'signal' | 'onRead'>;

const probeRequest = {
  messages: [
    { role: 'user', content: 'This is a test of the connection. Answer with this line alone:\nparams[0]: 1' },
  ],
  options: {
    seeds: [0],
    grammar: answerGrammar({ count: 1, kind: 'integer', low: 0, high: 9, decimals: 0 }),
  },
} as const;

/**
 * Asks the proposing model for a first proposal, and the stages' own models for a short answer. Skips baselines and, in
 * a replay, all models.
 */
export async function askModel(
  assembly: Assembly,
  env: CommandContext['env'],
  askOptions: AskOptions,
): Promise<readonly Finding[]> {
  const { config, proposer, stages } = assembly;
  const own = languageMemberOf(config.model);
  const stageModels = stages.flatMap(({ model: used }) => used ?? []);
  const models: readonly ProbedModel[] = [
    ...(own ? [{ config: own.config, model: proposer.model, field: own.field, proposes: true }] : []),
    ...stageModels.map((one) => ({
      config: one.config,
      model: one.proposer?.model,
      field: one.field,
      proposes: false,
    })),
  ];
  const findings: Finding[] = [];
  for (const probed of models) append(findings, await probeModel(probed, assembly, env, askOptions));
  return findings;
}

/** A model to test, and its config section. */
interface ProbedModel {
  readonly config: SingleModelConfig;
  readonly model: LanguageModel | undefined;
  readonly field: string;
  /** If true, asks for the first proposal of the experiment instead of a short answer. */
  readonly proposes: boolean;
}

async function probeModel(
  { config, field, model, proposes }: ProbedModel,
  assembly: Assembly,
  env: CommandContext['env'],
  askOptions: AskOptions,
): Promise<readonly Finding[]> {
  if (model === undefined) return [];
  try {
    // Retries would delay the report of an error.
    const askedModel =
      'maxRetries' in config
        ? createModel({ ...config, maxRetries: 0, timeoutSeconds: Math.min(config.timeoutSeconds, 180) }, env)
        : model;
    // Have the server load the model with the context that a run needs.
    askedModel.expect?.(promptSize(assembly).tokenBound);
    const name = (await askedModel.open?.()) ?? askedModel.id;
    const call = proposes ? await firstProposal(assembly, askedModel, askOptions) : undefined;
    if (proposes && call === undefined) return [];
    if (call?.outcome.kind === 'error') return [noAnswerFinding(field, call.outcome.message)];
    const [result] = call
      ? [call.completion]
      : await askedModel.generate(probeRequest.messages, { ...probeRequest.options, ...askOptions });
    const { warnings = [], ...completion } = result!;
    return [
      judgeReply(completion, call, { config: assembly.config, field, name }),
      ...(completion.text.trim() === '' ? [] : warnings.map((message) => warningFinding({ field, message }))),
    ];
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return [noAnswerFinding(field, error.message)];
  }
}

const noAnswerFinding = (field: string, message: string): Finding => ({
  level: 'error',
  field,
  message: `did not answer: ${message}`,
});

/** Reports an answer and, if it is a proposal, how a run would judge it. */
function judgeReply(
  completion: Completion,
  call: CallRecord | undefined,
  { config, field, name }: Pick<Assembly, 'config'> & Readonly<Record<'field' | 'name', string>>,
): Finding {
  const { corrections, policy } = config;
  const { finishReason, format, latencyMs, text, usage } = completion;
  const countText = (count: number | undefined) => (count === undefined ? '?' : formatCount(count));
  const tokensText = `${countText(usage.promptTokens)} tokens in, ${countText(usage.completionTokens)} out`;
  const answersText = `${name} answers (${formatDuration(latencyMs)}, ${tokensText}${format === undefined ? '' : `, format ${format}`})`;
  const isEmpty = text.trim() === '';
  const lengthHint =
    finishReason === 'length'
      ? `raise ${field}.maxTokens: the model may use up its tokens on reasoning before it answers`
      : emptyReplyWarning(completion, undefined);
  if (call === undefined)
    return isEmpty
      ? warningFinding({
          field,
          message: `${answersText}, but its reply is empty`,
          ...(lengthHint !== undefined && { hint: lengthHint }),
        })
      : okFinding(field, answersText);
  const { outcome } = call;
  if (outcome.kind === 'accepted') {
    const { parameters, program } = outcome;
    const answer =
      program === undefined ? `${plural(parameters.length, 'parameter')} in range` : programTitle(outcome);
    return okFinding(field, `${answersText}; a run would accept the reply: ${answer}`);
  }
  const retryHint =
    corrections === 0
      ? 'set corrections=3 to ask again'
      : `a run asks again up to ${plural(corrections, 'time')}`;
  return warningFinding({
    field,
    message: `${answersText}, but a run would reject this reply: ${rejectionText(call, 200)}`,
    hint:
      lengthHint ??
      `${retryHint}; if that doesn't help, try another prompts.set, ${policy.kind === 'program' ? '' : `a ${field}.format that enforces the answer, `}or a larger model`,
  });
}

/**
 * Asks a model for a run's first proposal as the run would, but only once and without corrections.
 * @returns the call, judged as in a run but without playing episodes; undefined if a limit doesn't allow it
 * @throws ModelError if retrying can't help, or when aborted
 */
async function firstProposal(
  assembly: Assembly,
  model: LanguageModel,
  askOptions: AskOptions,
): Promise<CallRecord | undefined> {
  const { config, family } = assembly;
  const entries = syntheticWarmUp(assembly);
  const buffer = createReplayBuffer(entries);
  const prompter = new Prompter({ ...assembly, buffer, recorded: emptyRun });
  let firstCall: CallRecord | undefined;
  await languageModelProposer(model).propose({
    prompt: prompter.prompt(1),
    task: { parameters: family.parameters, history: entries, warmup: entries.length },
    seen: (parameters) => buffer.find(parameters),
    iteration: 1,
    candidates: [0],
    corrections: 0,
    concurrency: 1,
    ...replyReaders({
      family,
      encoding: encodingFor(family, config.prompts.set),
      form: answerFormOf(languageModelOf(config.model), config.prompts),
      original: prompter.parent()?.parameters,
    }),
    seed: (candidate, attempt) => callSeed(config.seed, 1, candidate, attempt),
    findRecorded: () => undefined,
    caller: { ledger: ledgerOf(assembly), ...askOptions, now: () => new Date(0) },
    onCall: (call) => {
      firstCall = call;
    },
  });
  return firstCall;
}
