/** Requests an iteration's candidates: builds the prompts, selects who answers them, and interprets the replies. */

import { createGenerator } from '../base/random/generator.js';
import { callSeed } from '../base/random/seeds.js';
import type { Config } from '../config/config.js';
import { evaluationsOf } from '../config/critic.js';
import { isByBaseline, languageModelOf } from '../config/model.js';
import type { ParameterVector, PolicyFamily } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import type { ParseContext, ParseFailure, SeenParameters } from '../prompting/answer/failure.js';
import { readEdits } from '../prompting/answer/program.js';
import { type Encoding, encodingFor } from '../prompting/notation/encoding.js';
import { type AnswerForm, answerFormOf, answerGrammar } from '../prompting/notation/grammar.js';
import { type ReplayBuffer, vectorKey } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
import type { StopRequests } from '../runs/stop-request.js';
import type { Task } from '../search/baseline.js';
import { sum } from '../statistics/descriptive.js';
import {
  type Answerer,
  type AskRequest,
  ask,
  askUntilUsable,
  callsOf,
  type Prompt,
  type ProposalGroup,
  type Question,
} from './ask.js';
import { knownTo, searched } from './evaluate.js';
import type { Experiment } from './parts.js';
import { type Trial, triedIn, tuningFor } from './programs.js';
import { lastKnown } from './prompter.js';
import { answering, writing } from './proposer.js';
import { evaluationsLeft } from './stopping.js';

/** How proposals are requested, read and checked. */
export interface Proposals extends Prompt, Pick<Question, 'by'> {
  readonly family: Pick<PolicyFamily, 'description' | 'parameters'>;
  /** How policies are written for the model. */
  readonly encoding: Encoding;
  readonly form?: AnswerForm;
  /** Finds an earlier use of the same parameters; omitted if repeats are allowed. */
  readonly seen?: (parameters: ParameterVector) => SeenParameters | undefined;
  /** Refuses a revision that is too far from the proposal that it revises. */
  readonly placed?: (parameters: ParameterVector) => ParseFailure | undefined;
  readonly tried?: Trial | undefined;
  /** The program to which the proposed edits apply; absent if whole policies are proposed. */
  readonly edited?: ParameterVector | undefined;
}

function proposeCandidates(
  experiment: Experiment,
  iteration: number,
  stop: StopRequests,
  emitCall: (call: CallRecord) => void,
): Promise<ProposalGroup> {
  const { buffer, config, progress, prompter, setting } = experiment;
  const { candidates, model, pipeline, prompts } = config;
  const known = lastKnown(config, iteration);
  const behind = iteration - 1 - known;
  const reader = languageModelOf(model);
  const by = answerers(experiment, iteration);
  const { family } = setting;
  const proposals = proposalQuestion({
    ...prompter.prompt(iteration, known),
    by,
    family,
    seen: seenBefore(buffer, known),
    tried: triedIn(experiment, iteration),
    edited: prompter.parent(known)?.parameters,
    form: answerFormOf(reader, prompts),
    encoding: encodingFor(family, prompts.set),
  });
  const question = {
    ...proposals,
    candidates,
    ...(behind > 0 && { behind }),
    concurrency: reader && 'concurrency' in reader ? reader.concurrency : 1,
    isReached: () => progress.isReached,
    // Iterations that are in flight together must not affect each other's outcome.
    mostRejected: pipeline === 1 ? progress.left : undefined,
    afterRepeat: afterRepeat(config),
    isPaid: reader !== undefined,
  };
  return ask(experiment, iteration, stop, question, emitCall);
}

/** Asks for proposals outside a run. @throws ModelError if retrying can't help or the calls are aborted */
export const propose = (
  request: Proposals & Omit<AskRequest, 'grammar' | 'outcomeOf' | 'prompt'>,
): Promise<ProposalGroup> => askUntilUsable({ ...request, ...proposalQuestion(request) });

/** The question that asks for proposals, including how its answers are read. */
export function proposalQuestion(
  proposals: Proposals,
): Pick<Question, 'by' | 'grammar' | 'outcomeOf' | 'prompt'> {
  const { by, edited, encoding, family, form } = proposals;
  const programs = programsOf(family);
  // A baseline has no parent and no prompt: it always proposes plain parameters, whatever the form.
  const plain = encodingFor(family, 'numeric');
  const read = (candidate: number, text: string, context: ParseContext) => {
    if (by(candidate).isBaseline) return plain.read(text, context);
    return programs === undefined || edited === undefined
      ? encoding.read(text, context)
      : readEdits(text, edited, programs, context);
  };
  return {
    by,
    prompt: proposals,
    // An answer grammar describes parameters, not programs.
    ...(programs === undefined && { grammar: answerGrammar(encoding.spec, form) }),
    async outcomeOf(call, accepted) {
      const { completion, iteration } = call;
      const { placed, seen, tried } = proposals;
      const result = read(call.candidate, completion.text, {
        ...(seen && {
          seen: (parameters) => (accepted.has(vectorKey(parameters)) ? { iteration } : seen(parameters)),
        }),
        finishReason: completion.finishReason,
        constrained: completion.constrained,
      });
      if (!result.ok) return { kind: 'rejected', failure: result.failure };
      const { predicted, value } = result;
      const failure = placed?.(value) ?? (await tried?.(value, [...accepted.values()], call));
      if (failure !== undefined) return { kind: 'rejected', failure };
      return {
        kind: 'accepted',
        parameters: value,
        ...(predicted !== undefined && { predicted }),
        ...(programs && { program: programs.program(value).source }),
      };
    },
  };
}

/** Share of the temperature that each attempt after a repeat adds. */
const heatPerAttempt = 0.5;

/**
 * Raises a local model's temperature after a repeat. At its usual temperature, it might keep repeating itself until no
 * corrections are left.
 */
function afterRepeat({ model }: Config): Question['afterRepeat'] {
  const reader = languageModelOf(model);
  if (reader?.provider !== 'local') return undefined;
  const { temperature = 1 } = reader;
  return (attempt) => ({ temperature: temperature * (1 + heatPerAttempt * attempt) });
}

/** Selects who answers for each candidate: the search over constants if tuning is due, otherwise a proposer. */
function answerers(experiment: Experiment, iteration: number): (candidate: number) => Answerer {
  const proposer = proposers(experiment, iteration);
  const { config, setting } = experiment;
  const encoding = encodingFor(setting.family, 'numeric');
  const pending = (iteration - 1 - lastKnown(config, iteration)) * config.candidates;
  const chosen = new Map<number, Answerer>();
  return (candidate) => {
    const known = chosen.get(candidate);
    if (known !== undefined) return known;
    const tuning = tuningFor(experiment, iteration, pending + candidate);
    const answerer =
      tuning === undefined
        ? proposer(candidate)
        : {
            model: writing(`baseline/${tuning.by}`, encoding, {
              givesSeveral: false,
              propose: tuning.propose,
            }),
            member: tuning.by,
            isFree: true,
            isBaseline: true,
          };
    chosen.set(candidate, answerer);
    return answerer;
  };
}

/**
 * Selects who proposes each candidate: the run's model or baseline, or a portfolio member. Baselines see the
 * evaluations in memory.
 */
function proposers(experiment: Experiment, iteration: number): (candidate: number) => Answerer {
  const { config, isBaseline, model, stages } = experiment;
  const isPortfolio = 'members' in model;
  const task: Task = {
    ...searched(experiment, knownTo(experiment, iteration)),
    proposed: (iteration - 1) * config.candidates,
    shared: isPortfolio || stages.length > 0,
  };
  if (!isPortfolio) {
    const answerer = { model: answering(model, task), isBaseline };
    return () => answerer;
  }
  const members = model.members.map(({ name, proposer }) => ({
    model: answering(proposer, task),
    member: name,
    isFree: isByBaseline({ member: name }),
    isBaseline: isByBaseline({ member: name }),
  }));
  const total = sum(model.members.map(({ weight }) => weight));
  const shares = model.members.map(({ weight }) => weight / total);
  // A stream derived from the call's seed, but independent of the stream from which the member draws its proposal.
  return (candidate) =>
    members[createGenerator(callSeed(config.seed, iteration, candidate, 0), [0]).categorical(shares)]!;
}

/** Finds the evaluation of the same parameters among those up to iteration `known`. */
export const seenBefore =
  (buffer: ReplayBuffer, known: number) =>
  (parameters: ParameterVector): SeenParameters | undefined => {
    const entry = buffer.find(parameters);
    return entry === undefined || entry.iteration > known ? undefined : entry;
  };

/**
 * Keeps requests for up to `pipeline` iterations in flight. A prompt can show the evaluations up to `pipeline`
 * iterations before its own. Results are recorded in iteration order, regardless of when answers arrive.
 */
export function openPipeline(experiment: Experiment, stop: StopRequests) {
  // A recording answers instantly, and it may lack answers that the recorded run never used.
  const isReplayed = experiment.config.model.provider === 'replayed';
  const pipeline = isReplayed ? 1 : experiment.config.pipeline;
  const leave = new AbortController();
  const stopping = { ...stop, finish: AbortSignal.any([stop.finish, leave.signal]) };
  const underway = new Map<number, { readonly calls: CallRecord[]; readonly group: Promise<Ended> }>();
  const emitCall = (call: CallRecord) => experiment.log.emit({ kind: 'call-finished', call });
  const start = (iteration: number) => {
    const calls: CallRecord[] = [];
    const onCall = pipeline === 1 ? emitCall : (call: CallRecord) => calls.push(call);
    const group = proposeCandidates(experiment, iteration, stopping, onCall);
    underway.set(iteration, {
      calls,
      group: group.then(
        (proposed) => ({ proposed }),
        (error) => ({ error }),
      ),
    });
  };
  return {
    /**
     * Returns the next iteration's proposals, and requests proposals for later iterations in the meantime.
     * @throws see `ask`
     */
    async propose(iteration: number): Promise<ProposalGroup> {
      for (let ahead = iteration; ahead < iteration + pipeline; ahead++) {
        if (underway.has(ahead)) continue;
        if (ahead > iteration && !mayAskAhead(experiment, ahead, ahead - iteration)) break;
        start(ahead);
      }
      const { calls, group } = underway.get(iteration)!;
      const ended = await group;
      underway.delete(iteration);
      for (const call of calls) emitCall(call);
      if ('error' in ended) throw ended.error;
      for (const call of callsOf(ended.proposed)) experiment.progress.count(call);
      return ended.proposed;
    },
    /** Stops sending requests; answers that still arrive are kept for a resumed run. */
    async close(): Promise<void> {
      leave.abort();
      await Promise.all([...underway.values()].map(({ group }) => group));
    },
  };
}

/**
 * Whether an iteration may be requested while `before` earlier ones are in flight. It may not if it could use up a
 * limit that they may need for corrections: the results would then depend on which answer arrives first.
 */
function mayAskAhead(experiment: Experiment, ahead: number, before: number): boolean {
  const { config, ledger, prompter, stages } = experiment;
  const { candidates, corrections } = config;
  if (!hasPlace(experiment, ahead)) return false;
  const asked = candidates + stages.length;
  const calls = (before + 1) * asked * (corrections + 1);
  return ledger.hasRoomFor(calls, () => prompter.messages(ahead, lastKnown(config, ahead)));
}

/** Whether enough iterations and evaluations remain for an iteration once all earlier ones have been evaluated. */
function hasPlace(experiment: Experiment, iteration: number): boolean {
  const { config, progress } = experiment;
  const [ahead, now] = [iteration - 1, progress.completed].map((iterations) =>
    evaluationsOf({ ...config, iterations }),
  );
  const needed = ahead! - now! + config.candidates;
  return iteration <= config.iterations && needed <= evaluationsLeft(experiment);
}

type Ended = { readonly proposed: ProposalGroup } | { readonly error: unknown };
