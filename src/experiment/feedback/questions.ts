/** Questions about an episode: from templates for a model, in a few lines for a person. */
import { type FeedbackConfig, framesOf } from '../../config/feedback.js';
import { short } from '../../environments/catalogue/facts.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { ChatMessage, Completion } from '../../models/language-model.js';
import { receivedText } from '../../models/secrets.js';
import type { ParameterSpec } from '../../policies/policy.js';
import type { ParseFailure } from '../../prompting/answer/parse.js';
import {
  type FeedbackContext,
  readFeedback,
  readTyped,
  type Said,
} from '../../prompting/context/feedback.js';
import type { TaskContext } from '../../prompting/context/prompt-context.js';
import { scoreTexts } from '../../prompting/context/scores.js';
import { trajectoryRows } from '../../prompting/context/trajectory.js';
import { formatParameters } from '../../prompting/notation/grammar.js';
import type { FeedbackPrompts } from '../../prompting/templates/prompt-set.js';
import { momentsOf, type SeenEpisode } from './seen-episode.js';

/** Builds the question and interprets the answer. */
export interface Questions {
  readonly prompt: (seen: SeenEpisode) => {
    readonly messages: readonly ChatMessage[];
    readonly formatCorrection: (failure: ParseFailure) => string;
  };
  readonly read: (completion: Completion) => Said | ParseFailure;
}

export const isFailure = (said: Said | ParseFailure): said is ParseFailure => 'kind' in said;

/** Questions for a vision model. */
export function visionQuestions(parts: {
  readonly config: FeedbackConfig;
  /** `memory.digits` */
  readonly digits: number | undefined;
  readonly prompts: FeedbackPrompts;
  readonly spec: ParameterSpec;
  /** Duration of an environment step in seconds. */
  readonly stepSeconds: number | undefined;
  readonly task: TaskContext;
}): Questions {
  const { config, digits, prompts, spec, stepSeconds, task } = parts;
  return {
    prompt({ entry, episode, isBest, record }) {
      const own = entry.returns[episode]!;
      const told = scoreTexts(digits, [entry.score, own]);
      const context: FeedbackContext = {
        ...task,
        iteration: entry.iteration,
        evaluated: {
          parameters: formatParameters(entry.parameters, spec),
          score: told(entry.score),
          best: isBest,
        },
        episode: {
          ...{ number: episode + 1, of: entry.returns.length },
          return: told(own),
          steps: record.actions.length,
          terminated: record.terminated,
        },
        frames: momentsOf(record, framesOf(config), stepSeconds).map(({ step }, i) => ({
          number: i + 1,
          step,
        })),
      };
      const messages: readonly ChatMessage[] = [
        { role: 'system', content: prompts.system(context) },
        { role: 'user', content: prompts.user(context) },
      ];
      return {
        messages,
        formatCorrection: (failure) => prompts.formatCorrection(context, failure),
      };
    },
    read(completion) {
      const reading = readFeedback(receivedText(completion), completion.finishReason);
      return reading.ok ? reading.said : reading.failure;
    },
  };
}

/** Number of steps listed for a person if the environment can't be drawn. */
const toldSteps = 20;

/** Questions for a person. @param isDrawn whether the episode is shown as a picture */
export function personQuestions(environment: Pick<EnvironmentSpec, 'id'>, isDrawn: boolean): Questions {
  return {
    prompt({ entry, episode, isBest, record }) {
      const { iteration, returns, score } = entry;
      const mean =
        returns.length === 1
          ? ''
          : ` of ${returns.length}, the one with the median return; the mean of all is ${short(score)}`;
      const lines = [
        `${environment.id}, iteration ${iteration}: episode ${episode + 1}${mean}${isBest ? ', the best so far' : ''}.`,
        `It has ${record.actions.length} steps and a return of ${short(returns[episode]!)}; ${record.terminated ? 'the task ended it' : 'it was cut off at the limit of steps'}.`,
        ...(isDrawn
          ? []
          : ['', 'step | observation | action | reward', ...trajectoryRows(record, toldSteps)]),
      ];
      return {
        messages: [{ role: 'user', content: lines.join('\n') }],
        formatCorrection: () => 'a rating from 1 to 5, a remark, or both as “4: too jerky”',
      };
    },
    read(completion) {
      const typed = readTyped(receivedText(completion));
      return typed.kind === 'said' ? typed.said : { kind: 'no-feedback' };
    },
  };
}
