/** Requests an iteration's candidates: builds the prompts, selects who answers them, and interprets the replies. */
import type { Config } from '../config/config.js';
import { evaluationsOf } from '../config/critic.js';
import { isByBaseline, languageModelOf } from '../config/model.js';
import type { ParameterVector, PolicyFamily } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import type { ParseContext, ParseFailure, SeenParameters } from '../prompting/answer/parse.js';
import { changesGrammar } from '../prompting/notation/changes.js';
import { type Encoding, encodingFor } from '../prompting/notation/encoding.js';
import { type AnswerForm, answerFormOf, answerGrammar } from '../prompting/notation/grammar.js';
import { createGenerator } from '../random/generator.js';
import { callSeed } from '../random/seeds.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import type { CallRecord, EndedCall } from '../runs/calls.js';
import type { Task } from '../search/baseline.js';
import { movedAway, nearestTried } from '../search/moves.js';
import { evaluatedEach } from '../search/settings.js';
import {
  type Answerer,
  type AskRequest,
  ask,
  askUntilUsable,
  type Prompt,
  type ProposalGroup,
  type Question,
} from './ask.js';
import { type Iteration, knownTo, searched } from './evaluate.js';
import type { Experiment, StopRequests } from './parts.js';
import { type Trial, triedIn, tuningFor } from './programs.js';
import { lastKnown } from './prompter.js';
import { answering, writing } from './proposer.js';
import { evaluationsLeft, RunStopped } from './stopping.js';

/** How proposals are requested, read and checked. */
export interface Proposals extends Prompt, Pick<Question, 'by'> {
  readonly family: Pick<PolicyFamily, 'description' | 'parameters'>;
  /** How policies are written for the model. */
  readonly encoding: Encoding;
  readonly form?: AnswerForm;
  /** Finds an earlier use of the same parameters; omitted if repeats are allowed or moved. */
  readonly seen?: (parameters: ParameterVector) => SeenParameters | undefined;
  /**
   * Checks how far a proposal is from earlier ones, or a revision from the proposal it revises: refuses it, moves it,
   * or returns undefined if the distance is acceptable.
   * @param accepted the proposals accepted so far
   */
  readonly placed?: (
    parameters: ParameterVector,
    accepted: readonly ParameterVector[],
    call: EndedCall,
  ) => WrongPlace | undefined;
  readonly tried?: Trial | undefined;
  /** Returns the prompt and the parent of a candidate; if omitted, all candidates answer the same prompt. */
  readonly branch?: ((candidate: number) => Branch) | undefined;
}

/** A proposal that is too close to an earlier one, or a revision that is too far from the original. */
export type WrongPlace =
  | { readonly kind: 'refused'; readonly failure: ParseFailure }
  | { readonly kind: 'moved'; readonly parameters: ParameterVector; readonly distance: number };

/** The prompt of the candidates that share one parent. */
interface Branch extends Prompt {
  /** The parameters to which the proposed changes apply; absent if full parameters are proposed. */
  readonly changes?: ParameterVector;
}

function proposeCandidates(
  experiment: Experiment,
  iteration: number,
  stop: StopRequests,
  emitCall: (call: CallRecord) => void,
): Promise<ProposalGroup> {
  const { asked, config, prompter, replies, setting } = experiment;
  const { candidates, model, pipeline = 1, prompts, screening } = config;
  const known = lastKnown(config, iteration);
  const behind = iteration - 1 - known;
  const reader = languageModelOf(model);
  const by = answerers(experiment, iteration);
  const { family } = setting;
  const proposals = proposalQuestion({
    ...prompter.prompt(iteration, known),
    ...noveltyOf(experiment, iteration),
    ...{ by, family, branch: branches(experiment, iteration), tried: triedIn(experiment, iteration) },
    form: answerFormOf(reader, prompts),
    encoding: encodingFor(family, prompts.set),
  });
  const question = {
    ...proposals,
    candidates,
    enough: screening?.evaluate,
    ...(behind > 0 && { behind }),
    concurrency: reader && 'concurrency' in reader ? reader.concurrency : 1,
    isReached: () => asked.isReached,
    // Iterations that are in flight together must not affect each other's outcome.
    mostRejected: pipeline === 1 ? replies.left : undefined,
    afterRepeat: afterRepeat(config),
    isPaid: reader !== undefined,
  };
  return ask(experiment, iteration, stop, question, emitCall);
}

/** Asks for proposals outside a run. @throws ModelError if retrying can't help or the calls are aborted */
export const propose = (
  request: Proposals & Omit<AskRequest, 'grammar' | 'outcomeOf' | 'promptOf'>,
): Promise<ProposalGroup> => askUntilUsable({ ...request, ...proposalQuestion(request) });

/** The question that asks for proposals, including how its answers are read. */
export function proposalQuestion(
  proposals: Proposals,
): Pick<Question, 'by' | 'grammar' | 'outcomeOf' | 'promptOf'> {
  const { branch, by, encoding, family, form } = proposals;
  const isChange = branch?.(0).changes !== undefined;
  const programs = programsOf(family);
  // A baseline has no parent and no prompt: it always proposes plain parameters, whatever the form.
  const plain = encodingFor(family, 'numeric');
  const read = (candidate: number, text: string, context: ParseContext) => {
    const parent = branch?.(candidate).changes;
    if (by(candidate).isBaseline) return plain.read(text, context);
    return parent === undefined ? encoding.read(text, context) : encoding.readChanges(text, parent, context);
  };
  return {
    by,
    promptOf: (candidate) => branch?.(candidate) ?? proposals,
    // An answer grammar describes parameters, not programs.
    ...(programs === undefined && {
      grammar: isChange ? changesGrammar(family.parameters, form) : answerGrammar(encoding.spec, form),
    }),
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
      const wrong = placed?.(value, [...accepted.values()], call);
      const failure =
        wrong?.kind === 'refused' ? wrong.failure : await tried?.(value, [...accepted.values()], call);
      if (failure !== undefined) return { kind: 'rejected', failure };
      return {
        kind: 'accepted',
        ...(wrong?.kind !== 'moved'
          ? { parameters: value }
          : { parameters: wrong.parameters, moved: { from: value, distance: wrong.distance } }),
        ...(predicted !== undefined && { predicted }),
        ...(programs && { program: programs.program(value).source }),
      };
    },
  };
}

/**
 * Raises a local model's temperature after a repeat. At its usual temperature, it might keep repeating itself until no
 * corrections are left.
 */
function afterRepeat({ model }: Config): Question['afterRepeat'] {
  const reader = languageModelOf(model);
  if (reader?.provider !== 'local' || !reader.heatAfterRepeat) return undefined;
  const { heatAfterRepeat, temperature = 1 } = reader;
  return (attempt) => ({ temperature: temperature * (1 + heatAfterRepeat * attempt) });
}

/** The prompt of each candidate, if candidates have parents. */
export function branches(
  { config, prompter }: Pick<Experiment, 'config' | 'prompter'>,
  iteration: number,
): ((candidate: number) => Branch) | undefined {
  const known = lastKnown(config, iteration);
  const made = prompter.parents(known).map(({ parameters }, rank): Branch => {
    const prompt = prompter.prompt(iteration, known, rank);
    return config.proposal?.form === 'delta' ? { ...prompt, changes: parameters } : prompt;
  });
  return made.length === 0 ? undefined : (candidate) => made[candidate % made.length]!;
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
            model: writing(`control/${tuning.by}`, encoding, {
              givesSeveral: false,
              propose: tuning.propose,
            }),
            ...{ member: tuning.by, isFree: true, isBaseline: true },
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
  const { buffer, config, isBaseline, model, seed } = experiment;
  const isPortfolio = 'members' in model;
  const task: Task = {
    ...searched(experiment, knownTo(experiment, iteration)),
    proposed: (iteration - 1) * config.candidates,
    shared: isPortfolio || config.critic !== undefined,
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
  const chosen = model.choose(iteration, {
    candidates: config.candidates,
    seed: (at, candidate) => callSeed(seed, at, candidate, 0),
    entries: buffer.entries,
  });
  return (candidate) => members[chosen[candidate]!]!;
}

/** How proposals that equal or nearly equal earlier ones are handled. */
export function noveltyOf(
  experiment: Pick<Experiment, 'buffer' | 'config'> & {
    readonly setting: Pick<Experiment['setting'], 'family'>;
  },
  iteration: number,
): Pick<Proposals, 'placed' | 'seen'> {
  const { config, setting } = experiment;
  const { novelty } = config;
  const seen: Proposals['seen'] = (parameters) => {
    const entry = experiment.buffer.find(parameters);
    return entry === undefined || entry.iteration > lastKnown(config, iteration) ? undefined : entry;
  };
  if (novelty === undefined) return { seen };
  const { action, distance: least } = novelty;
  const spec = setting.family.parameters;
  return {
    // If repeats are moved, move exact repeats too instead of refusing them.
    ...(action === 'ask' && { seen }),
    placed(parameters, accepted, { seed }) {
      const proposed = accepted.map((one) => ({ parameters: one, iteration, score: undefined }));
      const tried = [...knownTo(experiment, iteration), ...proposed];
      const nearest = nearestTried(parameters, tried, spec);
      if (nearest === undefined || nearest.distance >= least) return undefined;
      const { distance } = nearest;
      if (action === 'jitter') {
        const random = createGenerator(seed, [1]);
        return { kind: 'moved', parameters: movedAway(parameters, tried, spec, least, random), distance };
      }
      const { iteration: at, score } = nearest.tried;
      const failure = { iteration: at, ...(score !== undefined && { score }), distance, least };
      return { kind: 'refused', failure: { kind: 'too-close', ...failure } };
    },
  };
}

/**
 * Keeps requests for up to `pipeline` iterations in flight. A prompt can show the evaluations up to `pipeline`
 * iterations before its own. Results are recorded in iteration order, regardless of when answers arrive.
 */
export function openPipeline(experiment: Experiment, stop: StopRequests) {
  // A recording answers instantly, and it may lack answers that the recorded run never used.
  const isReplayed = experiment.config.model.provider === 'replayed';
  const { pipeline = 1 } = isReplayed ? {} : experiment.config;
  const leave = new AbortController();
  const stopping = { ...stop, finish: AbortSignal.any([stop.finish, leave.signal]) };
  const underway = new Map<number, { readonly calls: CallRecord[]; readonly group: Promise<Ended> }>();
  const emitCall = (call: CallRecord) => experiment.emit({ kind: 'call-finished', call });
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
     * @throws RunStopped if a limit prevented every call, so there is no iteration to record; see also `ask`
     */
    async propose(iteration: number): Promise<Iteration> {
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
      const { limit, proposals } = ended.proposed;
      for (const call of proposals.flatMap((proposal) => proposal.calls)) experiment.replies.count(call);
      if (limit !== undefined && proposals.every((proposal) => proposal.calls.length === 0))
        throw new RunStopped({ kind: 'limit', limit });
      return { ...ended.proposed, number: iteration, measured: [] };
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
  const { config, ledger, prompter } = experiment;
  const { candidates, corrections, critic } = config;
  if (!hasPlace(experiment, ahead)) return false;
  const asked = candidates + (critic === undefined ? 0 : 1);
  const calls = (before + 1) * asked * (corrections + 1);
  return !ledger.isLimited || ledger.hasRoomFor(prompter.messages(ahead, lastKnown(config, ahead)), calls);
}

/** Whether enough iterations and evaluations remain for an iteration once all earlier ones have been evaluated. */
function hasPlace(experiment: Experiment, iteration: number): boolean {
  const { completed, config } = experiment;
  const [ahead, now] = [iteration - 1, completed].map((iterations) =>
    evaluationsOf({ ...config, iterations }),
  );
  const needed = ahead! - now! + evaluatedEach(config);
  return iteration <= config.iterations && needed <= evaluationsLeft(experiment);
}

type Ended = { readonly proposed: ProposalGroup } | { readonly error: unknown };
