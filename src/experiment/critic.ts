/**
 * The critic: a second call that sees how the best proposal of an iteration behaved, and revises it (R. Abu
 * Hara et al., “Reflective Prompted Policy Optimization”, arXiv:2605.08315). The revision is evaluated on the
 * same episodes; the memory keeps the better of the two.
 */
import type { CriticConfig } from '../config/critic.js';
import type { LanguageModel } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import { remembered } from '../prompting/context/history.js';
import { answerFormOf } from '../prompting/notation/grammar.js';
import type { Measured } from '../rollout/evaluation.js';
import { type BufferEntry, bestEntry, vectorKey } from '../rollout/replay-buffer.js';
import { type CallRecord, type LimitName, numbersAfter } from '../runs/calls.js';
import type { Revision } from '../runs/events.js';
import { distanceOf } from '../search/moves.js';
import { askGroup } from './ask-group.js';
import { type Critic, criticModelOf, mostChange } from './critic/parts.js';
import { measureCandidates } from './evaluate.js';
import { isAskedFor } from './feedback.js';
import type { Experiment, StopRequests } from './parts.js';
import type { Proposal, WrongPlace } from './proposal.js';
import { answering } from './proposer/proposer.js';

/** The critic's result. `unfinished`: the user asked to stop, so the iteration must not be recorded yet. */
type Revised =
  | { readonly unfinished: true }
  | {
      readonly unfinished?: false;
      /** Empty if there was nothing to revise or the critic gave no usable revision. */
      readonly measured: readonly Measured[];
      readonly revision?: Revision;
      readonly limit?: LimitName;
    };

/** Whether the best proposal of this iteration is revised. */
export const isRevised = ({ critic }: Pick<Experiment, 'critic'>, iteration: number): boolean =>
  critic !== undefined && iteration % critic.config.every === 0;

/**
 * Requests a revision of the iteration's best proposal (the earliest if tied) and evaluates it.
 * @param measured the evaluated proposals, with the trajectories of all episodes
 * @throws ModelError if retrying can't help, or if aborted
 */
export async function revise(
  experiment: Experiment,
  iteration: number,
  measured: readonly Measured[],
  stop: StopRequests,
): Promise<Revised> {
  const { buffer, config, critic, setting } = experiment;
  const best = bestEntry(measured.map(({ entry }) => entry));
  if (critic === undefined || best === undefined || !isRevised(experiment, iteration))
    return { measured: [] };
  const { episodes } = measured.find(({ entry }) => entry === best)!;
  const asked = critic.prompter.prompt({
    iteration,
    iterations: config.iterations,
    revised: best,
    episodes,
    best: buffer.best,
  });
  const candidate = numbersAfter(config.candidates).critic;
  const { limit, proposals, unfinished } = await askGroup(
    experiment,
    iteration,
    stop,
    (call) => {
      critic.isReached ||= call.completion !== undefined;
      experiment.emit({ kind: 'call-finished', call });
    },
    {
      ...asked,
      purpose: 'critic',
      ...{ candidates: 1, first: candidate, concurrency: 1, isPaid: critic.isPaid },
      ...refusals(experiment, critic.config, best, measured),
      form: answerFormOf(criticModelOf(config), config.prompts),
      by: () => ({ model: answererOf(experiment, critic, measured), purpose: 'critic' }),
      isReached: () => critic.isReached,
    },
  );
  if (unfinished) return { unfinished };
  const place = {
    kind: 'revised',
    iteration,
    candidate,
    revises: best.candidate,
    before: best.score,
  } as const;
  const [proposal] = proposals;
  if (limit !== undefined && (proposal?.calls ?? []).length === 0) return { measured: [], limit };
  if (proposal?.kind !== 'accepted') {
    warnOfSilence(experiment, proposal);
    return { measured: [], revision: { ...place, result: 'rejected' }, ...(limit && { limit }) };
  }
  const { parameters } = proposal;
  const distance = distanceOf(parameters, best.parameters, setting.family.parameters);
  if (distance === 0) return { measured: [], revision: { ...place, result: 'kept', distance } };
  const revising = { candidate, parameters, revises: best.candidate };
  const evaluated = await measureCandidates(
    experiment,
    iteration,
    [revising],
    stop.abort,
    isAskedFor(experiment, iteration),
  );
  const after = evaluated[0]!.entry.score;
  const result = after > best.score ? 'better' : 'no-better';
  return { measured: evaluated, revision: { ...place, result, after, distance } };
}

/** Rejects revisions that repeat known parameters (other than the revised proposal) or change too much. */
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
    placed(parameters: ParameterVector): WrongPlace | undefined {
      const distance = distanceOf(parameters, best.parameters, spec);
      if (distance <= most) return undefined;
      return { kind: 'refused', failure: { kind: 'too-far', distance, most } };
    },
  };
}

/** The model that answers. A baseline searches over the same evaluations that the critic's model could know. */
function answererOf(
  { buffer, config, setting }: Experiment,
  { proposer }: Critic,
  measured: readonly Measured[],
): LanguageModel {
  const history = [...buffer.entries, ...measured.map(({ entry }) => entry)];
  return answering(proposer, {
    parameters: setting.family.parameters,
    history: remembered(history, config.memory),
    warmup: buffer.entries.filter(({ iteration }) => iteration === 0).length,
    noisy: config.evaluation.seeds === 'fresh',
    shared: true,
  });
}

function warnOfSilence({ warn }: Experiment, proposal: Proposal | undefined): void {
  const outcomes = proposal?.calls.map(({ outcome }: CallRecord) => outcome) ?? [];
  const last = outcomes.at(-1);
  if (last?.kind === 'error') warn(`the critic gave no answer: ${last.message}`);
}
