/**
 * The critic: a second model call that sees how an iteration's best proposal behaved and revises it (R. Abu Hara et
 * al., “Reflective Prompted Policy Optimization”, arXiv:2605.08315). The revision is evaluated on the same episodes,
 * and the memory keeps only the better of the two by default.
 */
import { type CriticConfig, criticModelOf } from '../../../config/critic.js';
import type { LanguageModel } from '../../../models/language-model.js';
import type { ParameterVector } from '../../../policies/policy.js';
import type { ParseFailure } from '../../../prompting/answer/failure.js';
import { remembered } from '../../../prompting/context/history.js';
import { encodingFor } from '../../../prompting/notation/encoding.js';
import { answerFormOf } from '../../../prompting/notation/grammar.js';
import type { Measured } from '../../../rollout/evaluation.js';
import { type BufferEntry, bestEntry, vectorKey } from '../../../rollout/replay-buffer.js';
import type { CallRecord } from '../../../runs/calls.js';
import type { Revision, StopReason } from '../../../runs/events.js';
import type { StopRequests } from '../../../runs/stop-request.js';
import { distanceOf } from '../../../search/moves.js';
import { ask } from '../../ask.js';
import { evaluateCandidates, searchedPrograms } from '../../evaluate.js';
import type { Experiment, Stage } from '../../parts.js';
import { type Trial, triedIn } from '../../programs.js';
import { shownOf } from '../../prompter.js';
import { proposalQuestion } from '../../propose.js';
import { answering, type SingleProposer } from '../../proposer.js';
import { evaluationsLeft } from '../../stopping.js';
import { type CriticPrompter, mostChange } from './prompter.js';

export interface CriticParts {
  readonly config: CriticConfig;
  readonly proposer: SingleProposer;
  readonly prompter: CriticPrompter;
  readonly isPaid: boolean;
}

export function createCritic(parts: CriticParts): Stage {
  let isReached = false;
  const reached = {
    isReached: () => isReached,
    onCall(call: CallRecord) {
      isReached ||= call.completion !== undefined;
    },
  };
  return {
    isDue: (iteration) => iteration % parts.config.every === 0,
    run: (...run) => revise({ ...parts, ...reached }, ...run),
  };
}

interface Critic extends CriticParts {
  readonly isReached: () => boolean;
  readonly onCall: (call: CallRecord) => void;
}

/**
 * Requests a revision of the iteration's best proposal (the earliest if tied) and evaluates it. Does nothing if there
 * is nothing to revise, or the limits don't allow it.
 * @throws see `ask`
 */
async function revise(
  critic: Critic,
  experiment: Experiment,
  iteration: number,
  measured: readonly Measured[],
  stop: StopRequests,
): Promise<StopReason | undefined> {
  const { buffer, config, log, setting } = experiment;
  const best = bestEntry(measured.map(({ entry }) => entry));
  if (best === undefined || evaluationsLeft(experiment) <= 0) return undefined;
  experiment.ledger.claim(buffer.entries.length + 1);
  const model = answererOf(experiment, critic);
  const before = bestEntry(buffer.entries.filter((entry) => entry.iteration < iteration));
  const shown = [before, best].filter((entry) => entry !== undefined);
  const prompt = critic.prompter.prompt({
    iteration,
    iterations: config.iterations,
    revised: best,
    episodes: measured.find(({ entry }) => entry === best)!.episodes,
    best: before,
  });
  const areEdits = config.policy?.kind === 'program' && config.policy.edits;
  const proposals = proposalQuestion({
    ...prompt,
    shown: shownOf(buffer, shown, bestEntry(shown)),
    ...refusals(experiment, critic.config, best),
    by: () => ({ model }),
    form: answerFormOf(criticModelOf(config), config.prompts),
    family: setting.family,
    encoding: encodingFor(setting.family, 'numeric'),
    tried: triedBeside(experiment, best, measured),
    ...(areEdits && { edited: best.parameters }),
  });
  // The number after those of the proposals.
  const candidate = config.candidates;
  const question = {
    ...proposals,
    candidates: 1,
    concurrency: 1,
    first: candidate,
    isPaid: critic.isPaid,
    purpose: 'critic',
    isReached: critic.isReached,
  } as const;
  const { end, proposals: answers } = await ask(experiment, iteration, stop, question, (call) => {
    critic.onCall(call);
    log.emit({ kind: 'call-finished', call });
  });
  const [proposal] = answers;
  if (end !== undefined && (proposal?.calls ?? []).length === 0) return end;
  const report = (result: Revision['result'], rest: Pick<Revision, 'after' | 'distance'> = {}) =>
    log.emit({
      kind: 'revised',
      iteration,
      candidate,
      revises: best.candidate,
      before: best.score,
      result,
      ...rest,
    });
  if (proposal?.kind !== 'accepted') {
    const last = proposal?.calls.at(-1)?.outcome;
    if (last?.kind === 'error') log.warn(`the critic didn't answer: ${last.message}`);
    report('rejected');
    return end;
  }
  const { parameters } = proposal;
  const distance = distanceOf(parameters, best.parameters, setting.family.parameters);
  if (distance === 0) {
    report('kept', { distance });
    return undefined;
  }
  const revision = { candidate, parameters, revises: best.candidate };
  const [played] = await evaluateCandidates(experiment, iteration, [revision], stop.abort);
  // A program that passed its trial can still fail in other episodes.
  if (played === undefined) report('rejected');
  else {
    const after = played.entry.score;
    report(after > best.score ? 'better' : 'no-better', { after, distance });
  }
  return undefined;
}

/** Tries out a revision unless it is unchanged; it must act differently from earlier programs and this iteration's. */
function triedBeside(experiment: Experiment, best: BufferEntry, measured: readonly Measured[]) {
  const tried = triedIn(experiment, best.iteration);
  const beside = measured.map(({ entry }) => entry.parameters);
  const own = vectorKey(best.parameters);
  return (
    tried &&
    ((...[parameters, , call]: Parameters<Trial>) =>
      vectorKey(parameters) === own ? Promise.resolve(undefined) : tried(parameters, beside, call))
  );
}

/** Rejects revisions that repeat known parameters (except those of the revised proposal) or change too much. */
function refusals({ buffer, setting }: Experiment, { distance: share }: CriticConfig, best: BufferEntry) {
  const spec = setting.family.parameters;
  const most = mostChange(share, spec);
  const own = vectorKey(best.parameters);
  return {
    seen(parameters: ParameterVector) {
      return vectorKey(parameters) === own ? undefined : buffer.find(parameters);
    },
    placed(parameters: ParameterVector): ParseFailure | undefined {
      const distance = distanceOf(parameters, best.parameters, spec);
      if (distance <= most) return undefined;
      return { kind: 'too-far', distance, most };
    },
  };
}

/** The model that answers. A baseline sees the evaluations that the memory holds. */
function answererOf({ buffer, config, setting }: Experiment, { proposer }: Critic): LanguageModel {
  return answering(proposer, {
    parameters: setting.family.parameters,
    programs: searchedPrograms(setting),
    history: remembered(buffer.entries),
    warmup: buffer.entries.filter(({ iteration }) => iteration === 0).length,
    noisy: config.evaluation.seeds === 'fresh',
    shared: true,
  });
}
