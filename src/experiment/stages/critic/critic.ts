/**
 * The critic: a second model call that sees how an iteration's best proposal behaved and revises it (R. Abu Hara et
 * al., “Reflective Prompted Policy Optimization”, arXiv:2605.08315). The revision is evaluated on the same episodes,
 * and the memory keeps only the better of the two.
 */
import type { CriticConfig } from '../../../config/critic.js';
import { languageModelOf } from '../../../config/model.js';
import type { ParameterVector } from '../../../policies/policy.js';
import { encodingFor } from '../../../prompting/notation/encoding.js';
import { answerFormOf } from '../../../prompting/notation/grammar.js';
import { distanceOf } from '../../../proposers/moves.js';
import type { ProposalRequest, Proposer } from '../../../proposers/proposer.js';
import type { EvaluatedPolicy } from '../../../rollout/evaluation.js';
import { type BufferEntry, bestEntry, vectorKey } from '../../../rollout/replay-buffer.js';
import type { Revision, StopReason } from '../../../runs/events.js';
import type { StopRequests } from '../../../runs/stop-request.js';
import { evaluateCandidate, recordCandidate, searchTask } from '../../evaluate.js';
import type { Experiment, Stage } from '../../parts.js';
import { shownEvaluations } from '../../prompter.js';
import { askProposer, replyReaders } from '../../propose.js';
import { createRepeatCheck } from '../../repeats.js';
import { evaluationsLeft } from '../../stopping.js';
import { type CriticPrompter, maxChange } from './prompter.js';

export interface Critic {
  readonly config: CriticConfig;
  readonly proposer: Proposer;
  readonly prompter: CriticPrompter;
}

export const createCriticStage = (critic: Critic): Stage => ({
  isDue: (iteration) => iteration % critic.config.every === 0,
  run: (...run) => revise(critic, ...run),
});

/**
 * Requests a revision of the iteration's best proposal (the earliest if tied) and evaluates it. Does nothing if there
 * is nothing to revise, or the limits don't allow another evaluation.
 * @throws like `proposeCandidates` and `evaluate`
 */
async function revise(
  critic: Critic,
  experiment: Experiment,
  iteration: number,
  evaluations: readonly EvaluatedPolicy[],
  stop: StopRequests,
): Promise<StopReason | undefined> {
  const { buffer, config, log, setting } = experiment;
  const best = bestEntry(evaluations.map(({ entry }) => entry));
  if (best === undefined || evaluationsLeft(experiment) <= 0) return undefined;
  experiment.ledger.claim(buffer.entries.length + 1);
  const earlierBest = bestEntry(buffer.entries.filter((entry) => entry.iteration < iteration));
  const shown = [earlierBest, best].filter((entry) => entry !== undefined);
  const { formatCorrection, messages } = critic.prompter.prompt({
    iteration,
    iterations: config.iterations,
    revised: best,
    episodes: evaluations.find(({ entry }) => entry === best)!.episodes,
    best: earlierBest,
  });
  const areEdits = config.policy?.kind === 'program' && config.policy.edits;
  // The revision's number follows those of the proposals.
  const candidate = config.candidates;
  const { end, proposals } = await askProposer(experiment, critic.proposer, stop, {
    iteration,
    candidates: [candidate],
    purpose: 'critic',
    prompt: { messages, shown: shownEvaluations(buffer, shown, bestEntry(shown)), formatCorrection },
    task: { ...searchTask(experiment), shared: true },
    ...rejectionChecks(experiment, critic.config, best, evaluations),
    ...replyReaders({
      family: setting.family,
      encoding: encodingFor(setting.family, 'numeric'),
      form: answerFormOf(languageModelOf(critic.config.model ?? config.model), config.prompts),
      original: areEdits ? best.parameters : undefined,
    }),
  });
  const [proposal] = proposals;
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
  if (proposal?.parameters === undefined) {
    const lastOutcome = proposal?.calls.at(-1)?.outcome;
    if (lastOutcome?.kind === 'error') log.warn(`the critic didn't answer: ${lastOutcome.message}`);
    report('rejected');
    return end;
  }
  const { parameters } = proposal;
  const distance = distanceOf(parameters, best.parameters, setting.family.parameters);
  if (distance === 0) {
    report('kept', { distance });
    return undefined;
  }
  const origin = { by: 'critic', revises: best.candidate };
  const evaluation = await evaluateCandidate(experiment, iteration, proposal, stop.abort, origin);
  // A program that passed its trial can still fail in other episodes.
  if (evaluation === undefined) report('rejected');
  else {
    recordCandidate(experiment, evaluation);
    const after = evaluation.entry.score;
    report(after > best.score ? 'better' : 'no-better', { after, distance });
  }
  return undefined;
}

/**
 * Rejects revisions that repeat known parameters (except those of the revised proposal) or change too much and, with
 * `repeats: behaviour`, those that act like earlier policies or this iteration's.
 */
function rejectionChecks(
  experiment: Experiment,
  { distance: share }: CriticConfig,
  best: BufferEntry,
  evaluations: readonly EvaluatedPolicy[],
): Pick<ProposalRequest, 'check' | 'seen'> {
  const { buffer, setting } = experiment;
  const check = createRepeatCheck(experiment, best.iteration);
  const siblings = evaluations.map(({ entry }) => entry.parameters);
  const spec = setting.family.parameters;
  const maxDistance = maxChange(share, spec);
  const isUnchanged = (parameters: ParameterVector) => vectorKey(parameters) === vectorKey(best.parameters);
  return {
    seen: (parameters) => (isUnchanged(parameters) ? undefined : buffer.find(parameters)),
    async check(parameters, _, by) {
      const distance = distanceOf(parameters, best.parameters, spec);
      if (distance > maxDistance) return { kind: 'too-far', distance, most: maxDistance };
      return isUnchanged(parameters) ? undefined : check?.(parameters, siblings, by);
    },
  };
}
