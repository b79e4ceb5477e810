/**
 * Feedback: a person or a vision model is shown the median episode of an iteration's best candidate. The
 * answer becomes part of the evaluation and appears in later prompts.
 */
import type { LanguageModel } from '../models/language-model.js';
import type { Said } from '../prompting/context/feedback.js';
import { remembered } from '../prompting/context/history.js';
import { medianEpisode } from '../rollout/behaviour.js';
import type { Measured } from '../rollout/evaluation.js';
import { bestEntry } from '../rollout/replay-buffer.js';
import {
  type CallRecord,
  currentFailure,
  type EndedCall,
  type LimitName,
  numbersAfter,
} from '../runs/calls.js';
import type { FeedbackQuestion, FeedbackResult } from '../runs/events.js';
import { askWithin, type Underway } from './ask-group.js';
import { askRound, finalError } from './budget/asking.js';
import { isFailure } from './feedback/questions.js';
import type { SeenEpisode } from './feedback/seen-episode.js';
import type { FeedbackParts } from './feedback-parts.js';
import type { Experiment, StopRequests } from './parts.js';

/** The result of asking. `unfinished`: the user asked to stop, so the iteration must not be recorded yet. */
type Heard =
  | { readonly unfinished: true }
  | {
      readonly unfinished?: false;
      /** The evaluations, one of which now includes the feedback. */
      readonly measured: readonly Measured[];
      /** Absent if nobody was asked. */
      readonly result?: FeedbackResult;
      readonly limit?: LimitName;
    };

/** Whether feedback is requested after this iteration. */
export const isAskedFor = ({ feedback }: Pick<Experiment, 'feedback'>, iteration: number): boolean =>
  feedback !== undefined && iteration % feedback.config.every === 0;

/**
 * Asks about the iteration's best evaluation among those the memory holds; the earliest wins ties.
 * @param measured the evaluations, with the trajectories of all episodes
 * @throws ModelError if retrying can't help, or if aborted
 */
export async function hearFeedback(
  experiment: Experiment,
  iteration: number,
  measured: readonly Measured[],
  stop: StopRequests,
): Promise<Heard> {
  const { buffer, config, feedback } = experiment;
  const entries = measured.map(({ entry }) => entry);
  const entry = bestEntry(remembered(entries, config.memory));
  if (feedback === undefined || entry === undefined || !isAskedFor(experiment, iteration))
    return { measured };
  const { episodes } = measured.find((one) => one.entry === entry)!;
  const episode = medianEpisode(entry.returns);
  const isBest = buffer.best === undefined || entry.score > buffer.best.score;
  const seen = { entry, episode, record: episodes[episode]!, isBest };
  const { from } = feedback.config;
  const question = { iteration, candidate: entry.candidate, episode, from };
  const replied = await ask(experiment, feedback, seen, question, stop);
  if (replied.kind === 'unfinished') return { unfinished: true };
  if (replied.kind === 'limit') return { measured, limit: replied.limit };
  const { said } = replied;
  const isSaid = said.rating !== undefined || said.remark !== undefined;
  const result = { kind: 'feedback', ...question, ...said, result: isSaid ? 'given' : replied.why } as const;
  const told = { ...entry, feedback: { from, episode, ...said } };
  return {
    measured: isSaid
      ? measured.map((one) => (one.entry === entry ? { ...one, entry: told } : one))
      : measured,
    result,
  };
}

type Replied =
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'limit'; readonly limit: LimitName }
  | { readonly kind: 'said'; readonly said: Said; readonly why: Exclude<FeedbackResult['result'], 'given'> };

/** Asks until an answer can be parsed, up to a maximum number of times. */
async function ask(
  experiment: Experiment,
  feedback: FeedbackParts,
  seen: SeenEpisode,
  question: FeedbackQuestion,
  stop: StopRequests,
): Promise<Replied> {
  const { isPaid, isPerson, questions } = feedback;
  const prompt = questions.prompt(seen);
  const model = announced(feedback.asked(seen, stop.finish), () => {
    if (isPerson) experiment.emit({ kind: 'feedback-asked', ...question });
  });
  const onCall = (call: CallRecord) => {
    feedback.isReached ||= call.completion !== undefined;
    experiment.emit({ kind: 'call-finished', call });
  };
  const asked = { isPaid, isTimed: !isPerson, purpose: 'feedback', promptOf: () => prompt.messages } as const;
  const { iteration } = question;
  const replied = await askWithin(experiment, iteration, stop, onCall, asked, (underway) =>
    askInTurn(experiment, { feedback, model, prompt, underway }),
  );
  return 'kind' in replied ? replied : { kind: 'limit', limit: replied.limit };
}

/** Announces the question when the model is first called, so not for answers that are already recorded. */
const announced = (model: LanguageModel, tell: () => void): LanguageModel => ({
  id: model.id,
  rate: model.rate,
  generate(messages, options) {
    tell();
    return model.generate(messages, options);
  },
});

async function askInTurn(
  { config, warn }: Experiment,
  {
    feedback,
    model,
    prompt,
    underway,
  }: {
    readonly feedback: FeedbackParts;
    readonly model: LanguageModel;
    readonly prompt: ReturnType<FeedbackParts['questions']['prompt']>;
    readonly underway: Underway;
  },
): Promise<Replied> {
  const candidate = numbersAfter(config.candidates).feedback;
  const isReached = () => feedback.isReached;
  let { messages } = prompt;
  for (let attempt = 0; attempt <= config.corrections; attempt++) {
    const request = { ...underway, model, concurrency: 1, isReached, purpose: 'feedback' } as const;
    const round = await askRound(request, [{ candidate, messages }], attempt);
    const [reply] = round.replies;
    try {
      const final = reply?.kind === 'ended' ? finalError(reply.call, { isReached }) : undefined;
      if (round.isCut) {
        // A person who didn't answer cost nothing.
        if (reply?.kind === 'ended' && !feedback.isPerson) keep(reply.call, underway);
        return { kind: 'unfinished' };
      }
      if (reply === undefined) return { kind: 'limit', limit: round.limit! };
      const call = reply.kind === 'recorded' ? reply.call : judged(reply.call, feedback);
      if (reply.kind === 'ended') underway.onCall(call);
      if (final !== undefined) throw final;
      const { completion, outcome } = call;
      if (outcome.kind === 'accepted') {
        const why = completion!.finishReason === 'stop' ? 'skipped' : 'unanswered';
        return { kind: 'said', said: saidIn(call, feedback), why };
      }
      if (outcome.kind === 'error') {
        warn(`no feedback came: ${outcome.message}`);
        // The same prompt would be refused again.
        if (outcome.error === 'content-filter' || outcome.error === 'too-long') break;
        continue;
      }
      messages = [
        ...messages,
        // Some servers reject a message without content.
        { role: 'assistant', content: completion?.text.trim() ? completion.text : '(no text)' },
        { role: 'user', content: prompt.formatCorrection(currentFailure(outcome.failure)) },
      ];
    } finally {
      round.release();
    }
  }
  return { kind: 'said', said: {}, why: 'unusable' };
}

/** Keeps the calls of an interrupted round; their answers are judged when the iteration resumes. */
function keep({ outcome, ...call }: EndedCall, { onCall, onLeft }: Underway): void {
  if (outcome === undefined) onLeft?.(call);
  else onCall({ ...call, outcome });
}

function judged({ completion, cost, outcome, ...base }: EndedCall, { questions }: FeedbackParts): CallRecord {
  if (completion === undefined) return { ...base, outcome: outcome! };
  const said = questions.read(completion);
  return {
    ...base,
    outcome: isFailure(said) ? { kind: 'rejected', failure: said } : { kind: 'accepted', parameters: [] },
    completion,
    ...(cost !== undefined && { cost }),
  };
}

function saidIn({ completion }: CallRecord, { questions }: FeedbackParts): Said {
  const said = questions.read(completion!);
  return isFailure(said) ? {} : said;
}
