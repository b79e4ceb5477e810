/**
 * The critic: a second model call that sees how an iteration's best proposal behaved and revises it (R. Abu Hara et
 * al., “Reflective Prompted Policy Optimization”, arXiv:2605.08315). The revision is evaluated on the same episodes,
 * and the memory keeps only the better of the two by default.
 */
import type { CriticConfig } from '../config/critic.js';
import type { LanguageModel } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { ParseFailure } from '../prompting/answer/parse.js';
import { remembered } from '../prompting/context/history.js';
import { encodingFor } from '../prompting/notation/encoding.js';
import { answerFormOf } from '../prompting/notation/grammar.js';
import type { Measured } from '../rollout/evaluation.js';
import { type BufferEntry, bestEntry, vectorKey } from '../rollout/replay-buffer.js';
import type { StopRequests } from '../runs/stop-request.js';
import { distanceOf } from '../search/moves.js';
import { ask } from './ask.js';
import { type Critic, criticModelOf, mostChange } from './critic-parts.js';
import { type Iteration, measureCandidates, searchedPrograms } from './evaluate.js';
import { type Experiment, isDue } from './parts.js';
import { type Trial, triedIn } from './programs.js';
import { proposalQuestion } from './propose.js';
import { answering } from './proposer.js';
import { evaluationsLeft } from './stopping.js';

/**
 * Requests a revision of the iteration's best proposal (the earliest if tied) and evaluates it. Does nothing if no
 * revision is due, there is nothing to revise, or the limits don't allow it.
 * @param evaluated with the trajectories of all episodes
 * @throws see `ask`
 */
export async function revise(
  experiment: Experiment,
  evaluated: Iteration,
  stop: StopRequests,
): Promise<Iteration> {
  const { buffer, config, critic, setting } = experiment;
  const { measured, number } = evaluated;
  const best = bestEntry(measured.map(({ entry }) => entry));
  const hasRoom = evaluated.limit === undefined && evaluationsLeft(experiment) > measured.length;
  if (critic === undefined || best === undefined || !hasRoom || !isDue(critic, number)) return evaluated;
  experiment.shared?.claim(buffer.entries.length + measured.length + 1);
  const { episodes } = measured.find(({ entry }) => entry === best)!;
  const { iterations } = config;
  const model = answererOf(experiment, critic, measured);
  const asked = { iteration: number, iterations, revised: best, episodes, best: buffer.best };
  const prompt = critic.prompter.prompt(asked);
  const areEdits = config.policy?.kind === 'program' && config.policy.edits;
  const proposals = proposalQuestion({
    ...prompt,
    ...refusals(experiment, critic.config, best, measured),
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
    ...{ candidates: 1, concurrency: 1, first: candidate, isPaid: critic.isPaid },
    purpose: 'critic',
    isReached: () => critic.isReached,
  } as const;
  const { limit, proposals: answers } = await ask(experiment, number, stop, question, (call) => {
    critic.isReached ||= call.completion !== undefined;
    experiment.emit({ kind: 'call-finished', call });
  });
  const [proposal] = answers;
  const reached = limit === undefined ? {} : { limit };
  if (limit !== undefined && (proposal?.calls ?? []).length === 0) return { ...evaluated, ...reached };
  const revision = {
    kind: 'revised',
    ...{ iteration: number, candidate, revises: best.candidate, before: best.score },
  } as const;
  if (proposal?.kind !== 'accepted') {
    const last = proposal?.calls.at(-1)?.outcome;
    if (last?.kind === 'error') experiment.warn(`the critic didn't answer: ${last.message}`);
    return { ...evaluated, revision: { ...revision, result: 'rejected' }, ...reached };
  }
  const { parameters } = proposal;
  const distance = distanceOf(parameters, best.parameters, setting.family.parameters);
  if (distance === 0) return { ...evaluated, revision: { ...revision, result: 'kept', distance } };
  const revising = [{ candidate, parameters, revises: best.candidate }];
  const [played] = await measureCandidates(experiment, number, revising, stop.abort, false);
  // A program that passed its trial can still fail in other episodes.
  if (played === undefined) return { ...evaluated, revision: { ...revision, result: 'rejected' } };
  const after = played.entry.score;
  const result = after > best.score ? 'better' : 'no-better';
  return {
    ...evaluated,
    measured: [...measured, played],
    revision: { ...revision, result, after, distance },
  };
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
function refusals(
  { buffer, setting }: Experiment,
  { distance: share }: CriticConfig,
  best: BufferEntry,
  measured: readonly Measured[],
) {
  const spec = setting.family.parameters;
  const most = mostChange(share, spec);
  const own = vectorKey(best.parameters);
  return {
    seen(parameters: ParameterVector) {
      const key = vectorKey(parameters);
      if (key === own) return undefined;
      const beside = measured.find(({ entry }) => vectorKey(entry.parameters) === key);
      return buffer.find(parameters) ?? beside?.entry;
    },
    placed(parameters: ParameterVector): ParseFailure | undefined {
      const distance = distanceOf(parameters, best.parameters, spec);
      if (distance <= most) return undefined;
      return { kind: 'too-far', distance, most };
    },
  };
}

/** The model that answers. A baseline sees the evaluations that the memory holds. */
function answererOf(
  { buffer, config, setting }: Experiment,
  { proposer }: Critic,
  measured: readonly Measured[],
): LanguageModel {
  const history = [...buffer.entries, ...measured.map(({ entry }) => entry)];
  return answering(proposer, {
    parameters: setting.family.parameters,
    programs: searchedPrograms(setting),
    history: remembered(history),
    warmup: buffer.entries.filter(({ iteration }) => iteration === 0).length,
    noisy: config.evaluation.seeds === 'fresh',
    shared: true,
  });
}
