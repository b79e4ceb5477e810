/**
 * Feedback: a person or a vision model sees how an iteration's best candidate acts in its episode with the median
 * return. The answer becomes part of the evaluation and appears in later prompts.
 */
import type { LanguageModel } from '../models/language-model.js';
import { remembered } from '../prompting/context/history.js';
import { medianEpisode } from '../rollout/behaviour.js';
import { bestEntry } from '../rollout/replay-buffer.js';
import { numbersAfter } from '../runs/calls.js';
import { ask } from './ask.js';
import { finalError } from './budget/ask-round.js';
import type { Iteration } from './evaluate.js';
import { isFailure } from './feedback/questions.js';
import { type Experiment, isDue, type StopRequests } from './parts.js';

/**
 * Asks about the iteration's best evaluation that the memory holds (the earliest if tied).
 * @param evaluated with the trajectories of all episodes
 * @returns the iteration, with any feedback added to the evaluation that was shown
 * @throws see `ask`
 */
export async function collectFeedback(
  experiment: Experiment,
  evaluated: Iteration,
  stop: StopRequests,
): Promise<Iteration> {
  const { buffer, config, emit, feedback } = experiment;
  const { measured, number } = evaluated;
  if (feedback === undefined || evaluated.limit !== undefined || !isDue(feedback, number)) return evaluated;
  const entries = measured.map(({ entry }) => entry);
  const entry = bestEntry(remembered(entries, config.memory));
  if (entry === undefined) return evaluated;
  const { episodes } = measured.find((one) => one.entry === entry)!;
  const episode = medianEpisode(entry.returns);
  const isBest = buffer.best === undefined || entry.score > buffer.best.score;
  const seen = { entry, episode, record: episodes[episode]!, isBest };
  const { isPaid, isPerson, questions } = feedback;
  const { from } = feedback.config;
  const asked = { iteration: number, candidate: entry.candidate, episode, from };
  const model = announced(feedback.asked(seen, stop.finish), () => {
    if (isPerson) emit({ kind: 'feedback-asked', ...asked });
  });
  const prompt = questions.prompt(seen);
  const isReached = () => feedback.isReached;
  const question = {
    ...{ candidates: 1, first: numbersAfter(config.candidates).feedback, concurrency: 1 },
    ...{ isPaid, isPerson, isReached },
    purpose: 'feedback',
    by: () => ({ model }),
    promptOf: () => prompt,
    async outcomeOf({ completion }) {
      const said = questions.read(completion);
      return isFailure(said) ? { kind: 'rejected', failure: said } : { kind: 'accepted', parameters: [] };
    },
  } satisfies Parameters<typeof ask>[3];
  const { limit, proposals } = await ask(experiment, number, stop, question, (call) => {
    feedback.isReached ||= call.completion !== undefined;
    emit({ kind: 'call-finished', call });
    if (call.outcome.kind === 'error' && finalError(call, { isReached }) === undefined)
      experiment.warn(`no feedback received: ${call.outcome.message}`);
  });
  if (limit !== undefined) return { ...evaluated, limit };
  const [answer] = proposals;
  const completion = answer?.kind === 'accepted' ? answer.calls.at(-1)!.completion : undefined;
  if (completion === undefined)
    return { ...evaluated, feedback: { kind: 'feedback', ...asked, result: 'unusable' } };
  const read = questions.read(completion);
  const said = isFailure(read) ? {} : read;
  if (said.rating === undefined && said.remark === undefined) {
    const result = completion.finishReason === 'stop' ? 'skipped' : 'unanswered';
    return { ...evaluated, feedback: { kind: 'feedback', ...asked, ...said, result } };
  }
  const told = { ...entry, feedback: { from, episode, ...said } };
  return {
    ...evaluated,
    measured: measured.map((one) => (one.entry === entry ? { ...one, entry: told } : one)),
    feedback: { kind: 'feedback', ...asked, ...said, result: 'given' },
  };
}

/** Announces the question when the model is first called; a recorded answer needs no call. */
const announced = (model: LanguageModel, announce: () => void): LanguageModel => ({
  id: model.id,
  rate: model.rate,
  generate(messages, options) {
    announce();
    return model.generate(messages, options);
  },
});
