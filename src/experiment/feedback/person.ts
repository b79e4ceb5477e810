/** Wraps a person as a model: shows an episode in the terminal and in the live view, and waits for an answer. */
import { onAbort } from '../../base/abortable.js';
import type { CommandContext } from '../../base/context.js';
import type { FeedbackConfig } from '../../config/feedback.js';
import { type Completion, type LanguageModel, ModelError } from '../../models/language-model.js';
import { readTyped, type Said, typedText } from '../../prompting/context/feedback.js';
import { type Animation, isShown, paceOf } from '../../render/animation.js';
import { gifAnimation } from '../../render/gif-animation.js';
import { spread, terminalPicture } from '../../render/terminal-picture.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import type { EvaluationSetting } from '../../rollout/evaluation.js';
import { type canDraw, replay } from '../../rollout/replay.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { closeQuestion, openQuestion } from '../../runs/requests.js';
import { replaceFile } from '../../storage/files.js';

export interface PersonAccess {
  readonly ask?: CommandContext['ask'];
  readonly terminal?: CommandContext['terminal'];
  readonly note: CommandContext['note'];
  readonly milliseconds: CommandContext['milliseconds'];
  /** Answers given in the live view. */
  readonly answers: Answers;
  readonly path: string;
  /** Where to write an iteration's picture: its path, its file name, and the path as shown to the user. */
  readonly picture: (iteration: number) => {
    readonly file: string;
    readonly name: string;
    readonly shown: string;
  };
  readonly draw?: Draw | undefined;
  readonly stepSeconds: number | undefined;
  /** Called if the wait ends without an answer because the input was closed or the run was stopped. */
  readonly onEnd: () => void;
  /** Called with the time spent waiting for an answer. */
  readonly onWaited: (milliseconds: number) => void;
}

const width = 480; // pixels
/** Maximum number of frames shown in the terminal, space permitting. */
const mostMoments = 6;

const howTo =
  'Rate it from 1 (bad) to 5 (good), add a remark, or both (“4: too jerky”); press Enter to skip.';

type Outcome =
  | { readonly kind: 'answered'; readonly text: string }
  | { readonly kind: 'late' }
  | { readonly kind: 'ended' };

/**
 * A model that asks the person about one episode.
 * @param finish ends the wait even if nobody has answered
 */
export function personFor(
  access: PersonAccess,
  { minutes }: Pick<FeedbackConfig, 'minutes'>,
  seen: SeenEpisode,
  finish: AbortSignal,
): LanguageModel {
  return {
    id: 'person',
    async generate(messages, { signal }) {
      const began = access.milliseconds();
      const latencyMs = () => access.milliseconds() - began;
      const ended = () =>
        new ModelError('aborted', 'no answer: the run was stopped', {
          ...{ retries: 0, latencyMs: latencyMs() },
        });
      if (finish.aborted || signal?.aborted) throw ended();
      const question = `iteration ${seen.entry.iteration}`;
      const withdrawn = new AbortController();
      const picture = show(access, messages[0]!.content, seen);
      openQuestion(access.path, { question, text: messages[0]!.content, picture: picture ?? null });
      // Waiting on promises alone would not keep the process alive.
      const alive = setInterval(() => undefined, 60_000);
      try {
        const outcome = await Promise.race([
          access.answers.of(question).then((said): Outcome => ({ kind: 'answered', text: typedText(said) })),
          typed(access, withdrawn.signal),
          late(minutes, withdrawn.signal),
          stopped([finish, signal], withdrawn.signal),
        ]);
        if (outcome.kind === 'ended') {
          access.onEnd();
          throw ended();
        }
        return [completionOf(outcome, latencyMs())];
      } finally {
        clearInterval(alive);
        withdrawn.abort();
        closeQuestion(access.path);
        access.onWaited(latencyMs());
      }
    },
  };
}

/** A timeout and an empty answer have different finish reasons. */
const completionOf = (outcome: Exclude<Outcome, { kind: 'ended' }>, latencyMs: number): Completion => ({
  text: outcome.kind === 'answered' ? outcome.text : '',
  finishReason: outcome.kind === 'answered' ? 'stop' : 'other',
  ...{ usage: {}, latencyMs, retries: 0 },
});

/** Shows the episode. @returns the name of its picture, if there is one */
function show(access: PersonAccess, text: string, seen: SeenEpisode): string | undefined {
  const { ask, draw, note, picture, terminal } = access;
  const animation = draw?.(seen);
  const { file, name, shown } = picture(seen.entry.iteration);
  if (animation !== undefined) replaceFile(file, gifAnimation(animation, width).bytes);
  note(`\n${text}`);
  if (animation === undefined) return undefined;
  if (ask !== undefined && terminal !== undefined) {
    const moments = momentsOf(seen.record, mostMoments, access.stepSeconds).map(({ at }) => at);
    const lines = terminalPicture(animation, moments, {
      columns: (terminal.columns || 80) - 1,
      depth: terminal.getColorDepth?.() ?? 1,
    });
    // Write without styles, because the picture has its own colours.
    terminal.write(`${lines.join('\n')}\n`);
  }
  note(`full episode: ${shown}`);
  return name;
}

const never = new Promise<never>(() => undefined);

/** Reads lines from the terminal until one is a valid answer. */
async function typed({ ask, note }: PersonAccess, withdrawn: AbortSignal): Promise<Outcome> {
  if (ask === undefined) return never;
  note(howTo);
  for (;;) {
    const line = await ask('> ', withdrawn);
    if (withdrawn.aborted) return never;
    if (line === undefined) return { kind: 'ended' };
    const read = readTyped(line);
    if (read.kind === 'said') return { kind: 'answered', text: line.trim() };
    note(read.problem);
  }
}

const late = (minutes: number | undefined, withdrawn: AbortSignal): Promise<Outcome> =>
  minutes === undefined
    ? never
    : new Promise((resolve) => {
        const timer = setTimeout(() => resolve({ kind: 'late' }), Math.min(minutes * 60_000, 2 ** 31 - 1));
        onAbort(withdrawn, () => clearTimeout(timer));
      });

/** Resolves when one of the signals aborts. */
const stopped = (signals: readonly (AbortSignal | undefined)[], withdrawn: AbortSignal): Promise<Outcome> =>
  new Promise((resolve) => {
    for (const signal of signals) {
      const leave = onAbort(signal, () => resolve({ kind: 'ended' }));
      onAbort(withdrawn, leave);
    }
  });

export interface Answers {
  /** Delivers an answer; ignored if the question is no longer open. */
  give(question: string, said: Said): void;
  /** Resolves with the answer to a question. Replaces the open question, whose promise then never resolves. */
  of(question: string): Promise<Said>;
}

export function createAnswers(): Answers {
  let open: { readonly question: string; readonly take: (said: Said) => void } | undefined;
  return {
    give(question, said) {
      if (open?.question !== question) return;
      open.take(said);
      open = undefined;
    },
    of: (question) =>
      new Promise((take) => {
        open = { question, take };
      }),
  };
}

export interface SeenEpisode {
  readonly entry: BufferEntry;
  /** 0-based index among the episodes of the evaluation. */
  readonly episode: number;
  readonly record: EpisodeRecord;
  readonly isBest: boolean;
}

/** Replays an episode and draws it. */
export type Draw = (seen: SeenEpisode) => Animation;

/** Maximum number of frames per episode. */
const most = { maxFrames: 200 };

/** @param environment a separate instance, so state kept between episodes can't leak into evaluations */
export const drawing =
  ({
    environment,
    family,
    maxSteps,
    title,
  }: Pick<EvaluationSetting, 'family' | 'maxSteps'> & {
    readonly environment: Parameters<typeof canDraw>[0];
    readonly title: string;
  }): Draw =>
  ({ entry, record }) => {
    const setting = { environment, family, maxSteps };
    const { moments, pace } = replay(setting, entry.parameters, record.seed, most);
    return { title: `${title} · iteration ${entry.iteration}`, moments, pace };
  };

/**
 * Selects evenly spaced moments of an episode without drawing anything. `at` is an index among the drawn frames, `step`
 * a step number.
 * @param stepSeconds simulated seconds per step; undefined if the task has no time scale
 */
export function momentsOf(
  { actions: { length } }: Pick<EpisodeRecord, 'actions'>,
  count: number,
  stepSeconds: number | undefined,
): readonly { readonly at: number; readonly step: number }[] {
  const pace = paceOf(length, stepSeconds, most);
  const steps = Array.from({ length: length + 1 }, (_, step) => step).filter((step) =>
    isShown(step, length, pace),
  );
  return spread(
    steps.map((step, at) => ({ at, step })),
    count,
  );
}
