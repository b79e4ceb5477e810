import { append } from '../../base/append.js';
import type { CommandContext } from '../../base/context.js';
import { callSeed } from '../../base/random/seeds.js';
import { formatCount, formatDuration, plural } from '../../base/text/numbers.js';
import { languageMemberOf, languageModelOf, type SingleModelConfig } from '../../config/model.js';
import { type Completion, type LanguageModel, ModelError } from '../../models/language-model.js';
import { encodingFor } from '../../prompting/notation/encoding.js';
import { answerFormOf, answerGrammar } from '../../prompting/notation/grammar.js';
import { createReplayBuffer } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import { rejectionText } from '../../runs/failure-text.js';
import { programTitle } from '../../runs/program-text.js';
import { nothingRecorded } from '../../runs/reader.js';
import { Prompter } from '../prompter.js';
import { propose, seenBefore } from '../propose.js';
import { createModel, languageModelIn, type SingleProposer } from '../proposer.js';
import { type Assembly, languageModelsOf } from '../setup/assemble.js';
import { ledgerOf } from '../setup/open-experiment.js';
import { contextOf } from '../setup/open-models.js';
import { type Finding, found, warning } from './findings.js';
import { madeUpWarmUp, promptSize } from './prompt-size.js';

/** Tells each model how long its prompts can become, so that servers load it only once, with enough context. */
export async function makeRoom(assembly: Assembly, signal: AbortSignal | undefined): Promise<void> {
  const models = languageModelsOf(assembly).filter(({ expect }) => expect !== undefined);
  if (models.length === 0) return;
  const { bound } = promptSize(assembly);
  for (const model of models) model.expect?.(bound);
  const model = languageModelIn(assembly.model);
  if (model?.expect !== undefined) await contextOf(assembly.config.model, model, true, signal);
}

const probe = {
  messages: [
    { role: 'user', content: 'This is a test of the connection. Answer with this line alone:\nparams[0]: 1' },
  ],
  options: {
    seeds: [0],
    grammar: answerGrammar({ count: 1, kind: 'integer', low: 0, high: 9, decimals: 0 }),
  },
} as const;

/**
 * Asks the proposing model for a first proposal, and the stages' own models for a short answer. Skips baselines and
 * modules without `generate`.
 */
export async function askModel(
  assembly: Assembly,
  env: CommandContext['env'],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { bound } = promptSize(assembly);
  const of = { config: languageModelOf(assembly.config.model), model: languageModelIn(assembly.model) };
  const { field } = languageMemberOf(assembly.config.model) ?? { field: 'model' };
  const all: readonly Probed[] = [
    { ...of, field, bound, proposesFor: assembly },
    ...assembly.stages.flatMap(({ model }) =>
      model === undefined
        ? []
        : [{ config: languageModelOf(model.config), model: model.proposer, field: model.field, bound }],
    ),
  ];
  const findings: Finding[] = [];
  for (const one of all) append(findings, await askOne(one, env, signal));
  return findings;
}

/** A model to test, and its config section. */
interface Probed {
  readonly config: ReturnType<typeof languageModelOf>;
  readonly model: SingleProposer | undefined;
  readonly field: string;
  /** Upper bound on the tokens in the model's longest prompt. */
  readonly bound: number;
  /** If set, asks for the first proposal of this experiment instead of a short answer. */
  readonly proposesFor?: Assembly;
}

async function askOne(
  { bound, config, field, model, proposesFor }: Probed,
  env: CommandContext['env'],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (config === undefined || model?.generate === undefined) return [];
  try {
    const asked = 'maxRetries' in config ? createModel(impatient(config), env) : model;
    // Have the server load the model with the context that a run needs.
    asked.expect?.(bound);
    const name = (await asked.open?.()) ?? asked.id;
    if (proposesFor !== undefined) {
      const call = await firstProposal(proposesFor, asked, signal);
      return call === undefined
        ? []
        : proposalFindings(call, { corrections: proposesFor.config.corrections, field, name });
    }
    const [completion] = await asked.generate(probe.messages, { ...probe.options, signal });
    const answers = answerText(name, completion!);
    return [
      completion!.text.trim() === ''
        ? warning({ field, message: `${answers}, but its answer is empty`, hint: longerAnswer(field) })
        : found(field, answers),
      ...warningsOf(completion!, field),
    ];
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    return [noAnswer(field, error.message)];
  }
}

const noAnswer = (field: string, message: string): Finding => ({
  level: 'error',
  field,
  message: `did not answer: ${message}`,
});

/** Reports how a run would judge a reply. */
function proposalFindings(
  call: CallRecord,
  {
    corrections,
    field,
    name,
  }: { readonly corrections: number; readonly field: string; readonly name: string },
): readonly Finding[] {
  const { completion, outcome } = call;
  if (outcome.kind === 'error') return [noAnswer(field, outcome.message)];
  const answers = answerText(name, completion!);
  if (outcome.kind === 'accepted') {
    const { parameters, program } = outcome;
    const answer =
      program === undefined ? `${plural(parameters.length, 'parameter')} in range` : programTitle(outcome);
    const used = `a run would accept the reply: ${answer}`;
    return [found(field, `${answers}; ${used}`), ...warningsOf(completion!, field)];
  }
  const isCut = completion!.finishReason === 'length' || completion!.text.trim() === '';
  const again =
    corrections === 0
      ? 'set corrections=3 to ask again'
      : `a run asks again up to ${plural(corrections, 'time')}`;
  return [
    warning({
      field,
      message: `${answers}, but a run would reject this reply: ${rejectionText(call, 200)}`,
      hint: isCut
        ? longerAnswer(field)
        : `${again}; if that doesn't help, try another prompts.set, a model.format that enforces the answer, or a larger model`,
    }),
    ...warningsOf(completion!, field),
  ];
}

function answerText(name: string, { format, latencyMs, usage }: Completion): string {
  const { completionTokens, promptTokens } = usage;
  const tokens = (count: number | undefined) => (count === undefined ? '?' : formatCount(count));
  return `${name} answers (${formatDuration(latencyMs)}, ${tokens(promptTokens)} tokens in, ${tokens(completionTokens)} out${format === undefined ? '' : `, format ${format}`})`;
}

const longerAnswer = (field: string) =>
  `raise ${field}.maxTokens: the model may use up its tokens on reasoning before it answers`;

/** The warnings of a reply; none if it is empty, because that has its own finding. */
const warningsOf = ({ text, warnings = [] }: Completion, field: string): readonly Finding[] =>
  text.trim() === '' ? [] : warnings.map((message) => warning({ field, message }));

/** Disables retries and limits the timeout, so that a check reports errors quickly. */
function impatient(config: SingleModelConfig): SingleModelConfig {
  if (!('maxRetries' in config)) return config;
  return { ...config, maxRetries: 0, timeoutSeconds: Math.min(config.timeoutSeconds, 180) };
}

/**
 * Asks a model for a run's first proposal as the run would, but only once and without corrections.
 * @returns the call, judged as in a run; undefined if a limit doesn't allow it
 * @throws ModelError if retrying can't help, or when aborted
 */
async function firstProposal(
  assembly: Assembly,
  model: LanguageModel,
  signal: AbortSignal,
): Promise<CallRecord | undefined> {
  const { config, family } = assembly;
  const entries = madeUpWarmUp(assembly);
  const buffer = createReplayBuffer(entries);
  const prompter = new Prompter({ ...assembly, buffer, recorded: nothingRecorded });
  let asked: CallRecord | undefined;
  await propose({
    ...prompter.prompt(1),
    seen: seenBefore(buffer, 0),
    edited: prompter.parent(0)?.parameters,
    iteration: 1,
    candidates: 1,
    corrections: 0,
    concurrency: 1,
    by: () => ({ model }),
    family,
    form: answerFormOf(languageModelOf(config.model), config.prompts),
    encoding: encodingFor(family, config.prompts.set),
    seed: (candidate, attempt) => callSeed(config.seed, 1, candidate, attempt),
    recorded: () => undefined,
    ledger: ledgerOf(assembly),
    signal,
    now: () => new Date(0),
    onCall: (call) => {
      asked = call;
    },
  });
  return asked;
}
