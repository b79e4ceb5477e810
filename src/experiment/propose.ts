/** Requests the candidates of an iteration. */
import type { Config } from '../config/config.js';
import { isByControl, languageModelOf } from '../config/model.js';
import { answerFormOf } from '../prompting/notation/grammar.js';
import { tellingOf } from '../prompting/notation/telling.js';
import { createGenerator } from '../random/generator.js';
import { callSeed } from '../random/seeds.js';
import type { CallRecord } from '../runs/calls.js';
import type { Task } from '../search/control.js';
import { movedAway, nearestTried } from '../search/moves.js';
import { askGroup } from './ask-group.js';
import { knownTo, lastKnown, searched } from './known.js';
import type { Experiment, StopRequests } from './parts.js';
import type { Answerer, Branch, ProposalGroup, ProposalRequest } from './proposal.js';
import { answering } from './proposer/proposer.js';

/** @param emitCall receives each call, in order */
export async function proposeCandidates(
  experiment: Experiment,
  iteration: number,
  stop: StopRequests,
  emitCall: (call: CallRecord) => void,
): Promise<ProposalGroup> {
  const { config, prompter } = experiment;
  const known = lastKnown(config, iteration);
  const { formatCorrection, messages } = prompter.prompt(iteration, known);
  const branch = branches(experiment, iteration);
  const behind = iteration - 1 - known;
  // Iterations that are in flight together must not affect each other's outcome.
  const mostRejected =
    (config.pipeline ?? 1) === 1 ? experiment.replies.left(config.limits.rejections) : undefined;
  return askGroup(experiment, iteration, stop, emitCall, {
    candidates: config.candidates,
    enough: config.screening?.evaluate,
    messages,
    formatCorrection,
    ...(branch && { branch }),
    ...noveltyOf(experiment, iteration),
    ...(behind > 0 && { behind }),
    by: askedFor(experiment, iteration),
    concurrency: concurrencyOf(config),
    isReached: () => experiment.asked.isReached,
    ...(mostRejected !== undefined && { mostRejected }),
    afterRepeat: afterRepeat(config),
    form: answerFormOf(languageModelOf(config.model), config.prompts),
    telling: tellingOf(experiment.setting.family.parameters, config.prompts.set),
    isPaid: languageModelOf(config.model) !== undefined,
  });
}

/**
 * Raises a local model's temperature after a repeat; at its own temperature it might repeat itself until the
 * iteration is lost.
 */
function afterRepeat({ adapt, model }: Config): ProposalRequest['afterRepeat'] {
  const reader = languageModelOf(model);
  // Learning needs all answers sampled at the same temperature.
  if (reader?.provider !== 'local' || !reader.heatAfterRepeat || adapt !== undefined) return undefined;
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

/**
 * Who answers for each candidate: the run's model, its baseline (which sees what a model's memory would
 * show), or a portfolio member.
 */
function askedFor(experiment: Experiment, iteration: number): (candidate: number) => Answerer {
  const { buffer, config, isControl, model, seed } = experiment;
  const isPortfolio = 'members' in model;
  const task: Task = {
    ...searched(experiment, knownTo(experiment, iteration)),
    proposed: (iteration - 1) * config.candidates,
    shared: isPortfolio || config.critic !== undefined,
  };
  if (!isPortfolio) {
    const answerer = { model: answering(model, task), isControl };
    return () => answerer;
  }
  const members = model.members.map(({ name, proposer }) => ({
    model: answering(proposer, task),
    member: name,
    isFree: isByControl({ member: name }),
    isControl: isByControl({ member: name }),
  }));
  const chosen = model.choose(iteration, {
    candidates: config.candidates,
    seed: (at, candidate) => callSeed(seed, at, candidate, 0),
    entries: buffer.entries,
  });
  return (candidate) => members[chosen[candidate]!]!;
}

/** What happens to proposals that equal earlier ones or nearly do. */
export function noveltyOf(
  experiment: Pick<Experiment, 'buffer' | 'config'> & {
    readonly setting: Pick<Experiment['setting'], 'family'>;
  },
  iteration: number,
): Pick<ProposalRequest, 'placed' | 'seen'> {
  const { config, setting } = experiment;
  const { novelty } = config;
  const seen: ProposalRequest['seen'] = (parameters) => {
    const entry = experiment.buffer.find(parameters);
    return entry === undefined || entry.iteration > lastKnown(config, iteration) ? undefined : entry;
  };
  if (novelty === undefined) return { seen };
  const { action, distance: least } = novelty;
  const spec = setting.family.parameters;
  return {
    // If repeats are moved, exact repeats are moved too, not refused.
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

function concurrencyOf({ model }: Pick<Config, 'model'>): number {
  const reader = languageModelOf(model);
  return reader && 'concurrency' in reader ? reader.concurrency : 1;
}
