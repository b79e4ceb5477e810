/** Requests an iteration's candidates: builds the prompt, chooses the proposer, and makes calls within the limits. */
import { onAbort, untilAborted } from '../base/abortable.js';
import { callSeed } from '../base/random/seeds.js';
import type { Config } from '../config/config.js';
import { languageModelOf } from '../config/model.js';
import { ModelError } from '../models/language-model.js';
import type { ParameterVector, PolicyFamily } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import { readEdits } from '../prompting/answer/program.js';
import { type Encoding, encodingFor } from '../prompting/notation/encoding.js';
import { type AnswerForm, answerFormOf, answerGrammar } from '../prompting/notation/grammar.js';
import { tuningProposer } from '../proposers/baseline-proposer.js';
import type { ProposalRequest, Proposals, Proposer } from '../proposers/proposer.js';
import { type CallRecord, hasReachedModel, isModelCall, stageOf } from '../runs/calls.js';
import type { StopRequests } from '../runs/stop-request.js';
import { searchTask } from './evaluate.js';
import type { Experiment, RunProgress } from './parts.js';
import { tuningFor } from './programs.js';
import { createRepeatCheck } from './repeats.js';
import { deadlineOf, rejectionsLeft } from './stopping.js';

/** @throws ModelError if retrying can't help or the calls are aborted; errors of `evaluate`, which checks proposals */
export function proposeCandidates(
  experiment: Experiment,
  iteration: number,
  stop: StopRequests,
): Promise<Proposals> {
  const { buffer, config, progress, prompter, proposer, setting, stages } = experiment;
  const { candidates, model, prompts } = config;
  const withTuning = tuningProposer(proposer, (candidate) => tuningFor(experiment, iteration, candidate));
  return askProposer(experiment, withTuning, stop, {
    iteration,
    candidates: Array.from({ length: candidates }, (_, candidate) => candidate),
    prompt: prompter.prompt(iteration),
    task: { ...searchTask(experiment), shared: stages.length > 0 },
    pastProposals: { entries: buffer.entries, memberTurns: progress.memberTurns },
    seen: (parameters) => buffer.find(parameters),
    check: createRepeatCheck(experiment, iteration),
    ...replyReaders({
      family: setting.family,
      encoding: encodingFor(setting.family, prompts.set),
      form: answerFormOf(languageModelOf(model), prompts),
      original: prompter.parent()?.parameters,
    }),
    maxRejected: rejectionsLeft(progress),
    afterRepeat: optionsAfterRepeat(config),
  });
}

/** Returns `read`, which reads replies; for vectors, the grammar; for programs, `programOf`, which finds the source. */
export function replyReaders({
  original,
  encoding,
  family,
  form,
}: {
  readonly family: Pick<PolicyFamily, 'description'>;
  readonly encoding: Encoding;
  readonly form: AnswerForm;
  /** The program to which the proposed edits apply; undefined if whole policies are proposed. */
  readonly original?: ParameterVector | undefined;
}): Pick<ProposalRequest, 'grammar' | 'programOf' | 'read'> {
  const programs = programsOf(family);
  // An answer grammar describes parameters, not programs.
  if (programs === undefined) return { read: encoding.read, grammar: answerGrammar(encoding.spec, form) };
  return {
    read: (reply, context) =>
      original === undefined ? encoding.read(reply, context) : readEdits(reply, original, programs, context),
    programOf: (parameters) => programs.program(parameters).source,
  };
}

/** After a repeat, each attempt so far adds this share of the temperature. */
const temperatureGrowth = 0.5;

/**
 * Raises a local model's temperature after a repeat. At its usual temperature, it might keep repeating itself until no
 * corrections are left.
 */
function optionsAfterRepeat({ model }: Config): ProposalRequest['afterRepeat'] {
  const modelConfig = languageModelOf(model);
  if (modelConfig?.provider !== 'local') return undefined;
  const { temperature = 1 } = modelConfig;
  return (attempt) => ({ temperature: temperature * (1 + temperatureGrowth * attempt) });
}

/** What to ask, without the run's settings for calls. */
type ModelQuestion = Omit<
  ProposalRequest,
  'caller' | 'concurrency' | 'corrections' | 'isReached' | 'onCall' | 'findRecorded' | 'seed'
>;

/** Asks within the run's limits, and records each call. If a time limit aborts the calls, there are no proposals. */
export async function askProposer(
  experiment: Experiment,
  proposer: Pick<Proposer, 'propose'>,
  { abort, finish }: StopRequests,
  question: ModelQuestion,
): Promise<Proposals> {
  const { clock, config, ledger, log, progress } = experiment;
  const { check, iteration, purpose = 'proposal' } = question;
  const modelConfig = languageModelOf(config.model);
  const deadline = deadlineOf(experiment);
  const stopListening = onAbort(finish, () => !abort.aborted && logWait(experiment, deadline?.leftMs));
  const earlierCalls = experiment.earlierCalls.filter(
    (call) => call.iteration === iteration && stageOf(call) === purpose,
  );
  try {
    return await proposer.propose({
      ...question,
      check: check && ((...given) => untilAborted(check(...given), abort)),
      corrections: config.corrections,
      concurrency: modelConfig && 'concurrency' in modelConfig ? modelConfig.concurrency : 1,
      seed: (candidate, attempt) => callSeed(config.seed, iteration, candidate, attempt),
      caller: {
        ledger,
        finish,
        signal: deadline === undefined ? abort : AbortSignal.any([abort, deadline.signal]),
        now: clock.now,
        onWait: (ms) => log.emit({ kind: 'rate-limited', seconds: Math.round(ms / 1000) }),
        onRead: (read, of) => log.emit({ kind: 'reading', read, of }),
        onFault: log.onFault,
        send: log.send,
      },
      isReached: progress.reachedPurposes.has(purpose),
      findRecorded: (...place) => recordedCall(earlierCalls, ...place),
      onCall(call) {
        countCall(progress, call);
        log.emit({ kind: 'call-finished', call });
        for (const message of call.completion?.warnings ?? []) log.warn(message);
      },
    });
  } catch (error) {
    if (abort.aborted || !deadline?.signal.aborted || !(error instanceof ModelError)) throw error;
    return { proposals: [], end: { kind: 'limit', limit: deadline.limit } };
  } finally {
    stopListening();
  }
}

/** Counts the outcome of a call. @param isEarlier true if an earlier process made it */
export function countCall(progress: RunProgress, call: CallRecord, isEarlier = false): void {
  const { completion, outcome } = call;
  const purpose = stageOf(call);
  const isModel = isModelCall(call);
  if (!isEarlier && hasReachedModel(call)) progress.reachedPurposes.add(purpose);
  if (purpose !== 'proposal') return;
  const { candidate, iteration, member } = call;
  if (member !== undefined) progress.memberTurns.set(`${iteration}/${candidate}`, { iteration, member });
  if (isModel && !isEarlier) {
    progress.isAnswered ||= completion !== undefined;
    if (outcome.kind === 'error') progress.lastError = outcome.message;
  }
  if (outcome.kind === 'accepted') {
    progress.isAnyAccepted = true;
    progress.isModelAccepted ||= isModel;
  }
  if (outcome.kind !== 'rejected' || !isModel) return;
  progress.rejected++;
  progress.firstRejected ??= call;
}

/** Finds the call that an earlier process made with the same messages. */
function recordedCall(
  earlierCalls: readonly CallRecord[],
  candidate: number,
  attempt: number,
  messages: CallRecord['messages'],
): CallRecord | undefined {
  const isFollowed = earlierCalls.some((later) => later.candidate === candidate && later.attempt > attempt);
  return earlierCalls.findLast(
    (call) =>
      call.candidate === candidate &&
      call.attempt === attempt &&
      // Retry a failed call unless another call already followed it.
      (call.outcome.kind !== 'error' || isFollowed) &&
      JSON.stringify(call.messages) === JSON.stringify(messages),
  );
}

/** Reports how long the run may wait for the calls in flight once the user has asked to stop. */
function logWait({ config, ledger, log }: Experiment, leftMs = Number.POSITIVE_INFINITY): void {
  if (ledger.inFlight.calls === 0) return;
  const model = languageModelOf(config.model);
  const ownTimeout = model && 'timeoutSeconds' in model ? model.timeoutSeconds : Number.POSITIVE_INFINITY;
  const seconds = Math.ceil(Math.min(ownTimeout, leftMs / 1000));
  log.emit({ kind: 'waiting', ...(Number.isFinite(seconds) && { seconds }) });
}
